"""Motion: planned scenes become channels, channels become joints. Pure functions over arrays; no files."""
