"""The training tasks: each module defines one :class:`posegen.training.task.Task` as ``TASK``."""
