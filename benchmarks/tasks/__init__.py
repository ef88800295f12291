"""Benchmarks of the training tasks: each learns with `quick` within minutes, and its control learns nothing."""

from benchmarks.tasks import (
    attribute,
    identity,
    kills,
    memory,
    motion,
    own_table,
    people,
    pipeline,
    pipeline_estimate,
    text,
    text_steps,
    use,
)

TITLE = "Tasks"
MEASURES = [
    use,
    identity,
    attribute,
    text,
    text_steps,
    own_table,
    pipeline,
    pipeline_estimate,
    kills,
    memory,
    motion,
    people,
]
