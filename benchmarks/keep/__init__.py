"""How it is judged that nothing is lost, nothing changed, and nothing believed unchecked."""

from benchmarks.keep import damages, faults, fuzz

TITLE = "Keeping what was made"
MEASURES = [faults, damages, fuzz]
PAGES = ["benchmarks.keep.page"]
