"""Error on mocap of a model that lifts 2D poses to 3D, trained on generated motion alone: of the clips of each mocap dataset.

Model, cameras and steps are those of :mod:`benchmarks.usefulness`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.datasets import generate
from benchmarks.figures import Figure
from benchmarks.measure import scaled
from benchmarks.motion.clips import ONE_VARIANT, SEED, captured, fit

MOST = {"cmu": 85.0, "hdm05": 80.0}
"""Millimetres, by the file of the clips."""


def measure(folder: Path) -> Iterator[Figure]:
    clips = captured()
    if clips is None:
        yield Figure("lifting of mocap", "not measured: POSEGEN_REFERENCE is not set", "a limit for each dataset")
        return
    # Imported here: usefulness takes its clips from this package, and torch takes seconds.
    import torch

    from benchmarks.usefulness import lifting
    from benchmarks.usefulness.clips import shared_clips
    from benchmarks.usefulness.definitions import BODIES, PRETRAINING_SAMPLES

    sources = [clip.source for of_it in fit(clips).values() for clip in of_it]
    shared = shared_clips()
    count = str(scaled(PRETRAINING_SAMPLES, 100))
    keys = (part for override in (ONE_VARIANT, *BODIES) for part in ("--set", override))
    made = generate(folder / "lifting", "--samples", count, "--seed", str(SEED), "--workers", "2", *keys)
    torch.set_num_threads(1)
    model = lifting.pretrained(made)
    views = lifting.views_of(shared)
    for source, most in MOST.items():
        held = [clip for clip, of in enumerate(sources) if of == source]
        if not held:
            continue
        poses = lifting.joined([views[clip] for clip in held])
        errors = lifting.judge(lifting.answer(model, poses), poses, shared.numbers)
        name = f"mean error of joints, trained on generated motion, lifting {len(held)} clips of {source}"
        shown = f"{errors['mpjpe']:.1f} mm, {errors['pa_mpjpe']:.1f} aligned; mean of the families"
        yield Figure(name, shown, f"at most {most:.0f} mm", errors["mpjpe"] <= most)
