"""The steps of a training run, on one device or several."""
