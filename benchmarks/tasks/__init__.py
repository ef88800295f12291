"""Benchmarks of the training tasks: each learns with `quick` within minutes, and its control learns nothing."""

from benchmarks.tasks import (
    attribute,
    identity,
    memory,
    motion,
    own_table,
    people,
    pipeline,
    text,
    use,
)

TITLE = "Tasks"
MEASURES = [use, identity, attribute, text, own_table, pipeline, memory, motion, people]
