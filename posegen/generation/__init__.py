"""From a config to a dataset on disk: plan the shards, make them on every core, commit each, say how it goes."""
