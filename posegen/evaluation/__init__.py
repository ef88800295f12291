"""Measure the quality of motion: plausibility, gait, captions, and distance from mocap.

Measures take plain arrays and do not depend on how the motion was made. Printing is done by the command line.
"""
