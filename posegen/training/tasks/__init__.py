"""The tasks: each file makes one :class:`posegen.training.task.Task`."""
