"""How it is judged that stories are rich and every word of them true.

Samples are made on the spot, the very joints and captions that are stored, a block at a time. What is said is held against the
joints, never against what was planned. POSEGEN_JUDGE_SCALE=0.1 takes a tenth of the samples, to try the measures themselves.
"""

from benchmarks.story import language, meeting, recovered, share, sheets, truth

TITLE = "Truth and variety of captions"
MEASURES = [truth, language, meeting, recovered, share, sheets]
