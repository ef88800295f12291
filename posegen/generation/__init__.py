"""Generation of datasets on disk: plan the shards, make them in worker processes, commit each one, report progress."""
