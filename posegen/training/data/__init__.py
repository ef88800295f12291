"""What a model sees: clips and their captions, from where they lie to the tensors of a batch."""
