"""Whether ``posegen search`` finds what somebody does by words that no caption has.

100 phrasings are looked for in the default dataset, as ``posegen generate`` makes it without options: 10,000 samples, so that
of the rarest actions, too, there are more than ten. A found sample is a hit if one of the phrasing's actions is among the
actions of its segments, whatever its captions say.
"""

from __future__ import annotations

AT = 10
"""Samples that are looked at for each phrasing."""
PRECISION = 0.9
"""Share of hits among them, in the mean over all phrasings, at least."""
