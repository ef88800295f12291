"""Networks and losses that tasks are built from, and the representation of poses that a model generates."""
