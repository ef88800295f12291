"""Measures of the variety and truth of captions.

Samples are synthesized in memory, a block at a time, with the joints and captions that would be stored. Captions are compared
with the joints, not with the plan. POSEGEN_JUDGE_SCALE=0.1 takes a tenth of the samples, to test the measures themselves.
"""

from benchmarks.story import contrasts, language, likeness, meeting, recovered, share, truth

TITLE = "Truth and variety of captions"
MEASURES = [contrasts, truth, language, likeness, meeting, recovered, share]
