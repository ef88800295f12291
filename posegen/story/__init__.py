"""Who does what when, and the captions that say so, vectorised over the samples of a shard."""
