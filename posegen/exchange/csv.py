"""CSV: a row for each frame, with its time and x, y and z of each joint."""

from __future__ import annotations

import numpy as np

from posegen.exchange.clip import Clip
from posegen.exchange.export_format import one_file_each
from posegen.exchange.kernels.decimals import decimal_text
from posegen.foundations.skeleton import JOINTS

_HEADER = ",".join(("time", *(f"{joint}_{axis}" for joint in JOINTS for axis in "xyz"))).encode() + b"\n"


def encode(clip: Clip) -> bytes:
    """Return the table of a clip: seconds, and metres to a tenth of a millimetre."""
    times = np.arange(len(clip.joints)) / clip.fps
    table = np.column_stack([times, clip.joints.reshape(len(times), -1)])
    return _HEADER + decimal_text(table, ",")


FORMAT = one_file_each(
    "csv", "a table for each clip: a row for each frame with x, y and z of the 22 joints", ".csv", encode, frame_bytes=510
)
