"""Measure that no data is lost, changed, or read unchecked."""

from benchmarks.keep import attacks, damages, disorder, exits, faults, fuzz, power

TITLE = "Reliability of stored datasets"
MEASURES = [faults, power, disorder, exits, attacks, damages, fuzz]
PAGES = ["benchmarks.keep.page"]
