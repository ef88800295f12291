"""How embedding is judged."""

from benchmarks.embed import against_published, int8, kills, memory

TITLE = "Embedding captions"
MEASURES = [against_published, int8, kills, memory]
