"""Measure that no data is lost, changed, or read unchecked."""

from benchmarks.keep import attacks, clip_fuzz, damages, exits, faults, fuzz, sequences

TITLE = "Reliability of stored datasets"
MEASURES = [faults, sequences, exits, attacks, damages, fuzz, clip_fuzz]
PAGES = ["benchmarks.keep.page"]
