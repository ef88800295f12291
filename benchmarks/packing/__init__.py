"""Benchmarks of the dataset format on real joints: codec and settings, chunk and shard sizes, encoders, fsync.

``python -m benchmarks.packing`` measures everything in turns and writes `benchmarks/results/packing.md` and `.json`:

- `choices`: codecs and chunks, in memory: time to encode and decode joints, time to read one sequence,
  compressed size;
- `forms`: the same numbers with frames last, as whole numbers and as differences, before they are compressed;
- `pipelines`: writers and readers of posegen, zarr and zarrs, all with the same codecs;
- `syncing`: cost of fsync file by file, at the end, and in the background.
"""
