"""Find generated clips that show an action which no segment of their row covers, so that no caption can mention it."""

from __future__ import annotations

from dataclasses import dataclass

from posegen.evaluation.performances import STANDING
from posegen.evaluation.recording import LEGS, Recording

SECONDS = 0.4
"""Shortest time for which such an action counts."""


@dataclass(frozen=True)
class Uncaptioned:
    """Clips that show an action which no segment covers for :data:`SECONDS` or longer.

    Attributes
    ----------
    clips : int
        Number of all clips.
    legs, any_part : float
        Share of them with such an action of the legs, and of any body part.
    """

    clips: int
    legs: float
    any_part: float


class UncaptionedTally:
    """Count clips with uncaptioned actions."""

    def __init__(self) -> None:
        self._clips = self._legs = self._any_part = 0

    def add(self, recording: Recording) -> None:
        """Count a clip, if it has labels and segments."""
        if recording.labels is None or not recording.segments:
            return
        uncovered = (recording.labels != recording.number(STANDING)) & (recording.labels < len(recording.actions))
        for segment in recording.segments:
            shown = slice(int(segment["start"]), int(segment["end"]))
            uncovered[shown] &= recording.labels[shown] != recording.number(segment["action"])
        self._clips += 1
        if not uncovered.any():
            return
        self._legs += bool(uncovered[:, LEGS].sum() >= SECONDS * recording.fps)
        self._any_part += bool(uncovered.any(1).sum() >= SECONDS * recording.fps)

    def add_tally(self, later: UncaptionedTally) -> None:
        """Add the counts of later clips."""
        self._clips += later._clips
        self._legs += later._legs
        self._any_part += later._any_part

    def uncaptioned(self) -> Uncaptioned | None:
        """Return the shares; None without a clip that has labels."""
        if not self._clips:
            return None
        return Uncaptioned(self._clips, self._legs / self._clips, self._any_part / self._clips)
