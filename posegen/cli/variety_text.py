"""What ``posegen evaluate`` prints of how varied captions and stories are, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posegen.evaluation.captions import HUMANML3D

if TYPE_CHECKING:
    from posegen.evaluation.captions import Variety

__all__ = ["variety_lines"]


def variety_lines(samples: int, variety: Variety | None) -> list[str]:
    """Print how varied captions and what they tell are, beside published figures."""
    if variety is None:
        return ["Captions: none"]
    v, published = variety, HUMANML3D
    about = "" if v.exact else "about "
    head = f"How varied captions and stories are:{'here':>20}{published.name:>14}"
    told = [
        ("motions, without variants", f"{samples:,}", f"{published.motions:,}"),
        ("captions", f"{v.captions:,}", f"{published.captions:,}"),
        ("different captions", f"{about}{v.unique:,}", "-"),
        ("different words", f"{about}{v.vocabulary:,}", f"{published.vocabulary:,}"),
        ("words of a caption, mean", f"{v.mean_length:.1f}", f"{published.mean_length:.0f}"),
        ("words of a caption, 5 to 95 %", f"{v.shortest:.0f} to {v.longest:.0f}", "-"),
        ("distinct runs of 1, 2, 3 words", ", ".join(f"{share:.2g}" for share in v.distinct), "-"),
        ("actions, and their entropy", f"{v.actions}, {v.action_entropy:.2f} bits", "-"),
        ("transitions, and their entropy", f"{v.transitions:,}, {v.transition_entropy:.2f} bits", "-"),
    ]
    lines = [f"  {name:<32}{here:>22}{there:>14}" for name, here, there in told]
    return [head, *lines, f"  {published.name}: {published.source}"]
