"""How it is judged that motion moves as people do.

Every figure comes from joints as they are stored and from contact labels, never from what made them. Captured motion is read
from the folder that POSEGEN_REFERENCE names; where it names none, what needs it is "not measured". POSEGEN_JUDGE_SCALE=0.1
takes a tenth of the samples, to try the measures themselves. Samples are drawn with a seed of their own (`clips.SEED`),
with which nobody looks for what to mend: what is judged is not what motion was tuned on.
"""

from benchmarks.motion import classifier, families, plausible, running, walking

TITLE = "Motion that looks human"
MEASURES = [walking, running, plausible, families, classifier]
