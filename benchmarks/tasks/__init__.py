"""Benchmarks of the training tasks: each learns with `quick` within minutes, and its control learns nothing."""

from benchmarks.tasks import attribute, identity, kills, motion, own_table, pipeline, text

TITLE = "Tasks"
MEASURES = [identity, attribute, text, own_table, pipeline, kills, motion]
