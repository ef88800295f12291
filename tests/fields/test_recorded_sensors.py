"""Simulated sensors agree with recorded ones of one subject; docs/sensors.md has the figures of all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.sensors import correlation, trials


@pytest.mark.skipif("POSEGEN_SENSORS" not in os.environ, reason="needs POSEGEN_SENSORS: a folder with UTD-MHAD's trials")
def test_simulated_sensors_move_as_recorded_ones() -> None:
    # Trials on which the method was settled; those kept aside are in the page only.
    settled = [trial for trial in trials(Path(os.environ["POSEGEN_SENSORS"]), (1,)) if not trial.is_kept]
    assert len(settled) > 60
    assert np.median([correlation(trial) for trial in settled]) > 0.6
    others = [
        one._replace(simulated=np.resize(other.simulated, len(one.recorded)))
        for one, other in zip(settled, settled[20:], strict=False)
    ]
    assert np.median([correlation(trial) for trial in others]) < 0.3
