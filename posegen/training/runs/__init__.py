"""The folder of a training run: its documents, checkpoints, logs and report."""
