"""Measure that no data is lost, changed, or read unchecked."""

from benchmarks.keep import attacks, damages, faults, fuzz

TITLE = "Reliability of stored datasets"
MEASURES = [faults, attacks, damages, fuzz]
PAGES = ["benchmarks.keep.page"]
