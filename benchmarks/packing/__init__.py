"""The store's choices, on real joints: codec and its settings, size of chunks and shards, who encodes, how files are synced.

``python -m benchmarks.packing`` measures all of it in turns, and writes `benchmarks/results/packing.md` and `.json`:

- `choices`: codecs and chunks, in memory: how fast joints are encoded and decoded, how long it takes to get at one sequence,
  how many bytes are left;
- `pipelines`: posegen's own writer beside zarr's and zarrs', all with the same codecs, and the same ways to read;
- `syncing`: what fsync costs, file by file, all at the end, and behind the work.
"""
