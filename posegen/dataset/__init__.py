"""The dataset on disk: writing, reading and checking it. Knows arrays and rows, not how motion is made."""
