"""Which object an action uses, and what happens to it."""

from __future__ import annotations

from typing import Literal, get_args

from posegen.library.strict import Strict

__all__ = ["OBJECTS", "Object"]

Kind = Literal["bag", "ball", "bat", "book", "box", "chair", "cup", "food"]
OBJECTS: tuple[str, ...] = get_args(Kind)
"""What there is."""


class Object(Strict):
    """An object that an action uses.

    Attributes
    ----------
    kind : what it is
    at : which part of the body it belongs to: a hand, both, the near foot, or the seat
    use : it is held all the time; let go once in each repetition and flies (`thrown`); flies in and is then held (`caught`, or
        `fielded` with low hands);
        bounces between hand and floor (`bounced`); lies before the foot and flies from it (`kicked`); lies until the hand is
        lowest and is then held (`taken`), or the other way about (`left`); or stands (`sat_on`)
    """

    kind: Kind
    at: Literal["near_hand", "far_hand", "both_hands", "near_foot", "seat"] = "near_hand"
    use: Literal["held", "thrown", "caught", "fielded", "bounced", "kicked", "taken", "left", "sat_on"] = "held"
