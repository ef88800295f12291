"""Fields beside the joints, each a pure function of what a sequence holds and of counter-based draws.

One file a family: it describes its arrays as data and computes them for a block of samples. Whether they are made with the
samples or derived later makes no difference to any bit.
"""
