"""How it is judged that nothing is lost, nothing changed, and nothing believed unchecked."""

from benchmarks.keep import attacks, damages, faults, fuzz

TITLE = "Keeping what was made"
MEASURES = [faults, attacks, damages, fuzz]
PAGES = ["benchmarks.keep.page"]
