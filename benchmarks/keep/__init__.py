"""How it is judged that nothing is lost, nothing changed, and nothing believed unchecked."""

from benchmarks.keep import fuzz

TITLE = "Keeping what was made"
MEASURES = [fuzz]
PAGES = ["benchmarks.keep.page"]
