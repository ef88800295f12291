"""Ranges of joints: the usual ones, and how an action may widen them."""

from __future__ import annotations

from posegen.skeleton import JOINT_LIMITS
from posegen.wording import did_you_mean, shown

__all__ = ["check_range", "widest"]


def check_range(channel: str, least: float | None, most: float | None) -> None:
    """Check that a range widens that of a joint, for which there must be one.

    Parameters
    ----------
    channel : str
        An angle of :data:`posegen.skeleton.JOINT_LIMITS`, without a side.
    least, most : float, optional
        Degrees; None where that end stays as it is.

    Raises
    ------
    ValueError
        That says what is wrong with it.
    """
    if channel not in JOINT_LIMITS:
        msg = f"{shown(channel)} is no angle with a range{did_you_mean(channel, JOINT_LIMITS)}; both sides have the same"
        raise ValueError(msg)
    if least is None and most is None:
        msg = f"{channel} needs `min` or `max`: say which end is wider than usual"
        raise ValueError(msg)
    low, high = JOINT_LIMITS[channel]
    if (least is not None and least >= low) or (most is not None and most <= high):
        msg = f"{channel} is not widened by that: its range is {low:g} to {high:g} degrees already"
        raise ValueError(msg)


def widest(channel: str, least: float | None, most: float | None) -> tuple[float, float]:
    """Range of a joint in degrees where an action widens it to `least` or `most`."""
    low, high = JOINT_LIMITS[channel]
    return low if least is None else least, high if most is None else most
