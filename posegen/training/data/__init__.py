"""Clips and captions as model input: from a dataset, a config or own clips to the tensors of a batch."""
