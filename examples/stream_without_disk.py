"""Read shuffled training batches that are synthesized when they are needed; nothing is written.

python examples/stream_without_disk.py
"""

import time

import posegen

config = posegen.load_config("default")
batches = posegen.stream(config, samples=2000).batches(64, seed=1, fields=["joints", "captions"], epochs=None)

batches.batch(0)  # the kernels are compiled on first use
start = time.perf_counter()
for batch in batches.at(1):
    joints, captions = batch.joints, batch.captions  # float32 [64, actor, frame, joint, axis], 64 lists of texts
    if batch.number == 20:
        break
seconds = time.perf_counter() - start
print(f"{20 * 64 / seconds:,.0f} sequences a second; batch 20 begins with: {captions[0][0]}")

# Batch k does not depend on earlier batches: a training run resumes at any of them.
assert batches.batch(20).joints.tobytes() == joints.tobytes()
