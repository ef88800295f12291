"""To and from what other programs use: skeleton layouts, camera projection, and .bvh files."""

from posegen.exchange.bvh_figure import BvhFigure, read_bvh_figure
from posegen.exchange.camera import Extrinsics, Intrinsics, intrinsics, look_at, project
from posegen.exchange.layouts import LAYOUTS, Layout, Source, convert

__all__ = [
    "LAYOUTS",
    "BvhFigure",
    "Extrinsics",
    "Intrinsics",
    "Layout",
    "Source",
    "convert",
    "intrinsics",
    "look_at",
    "project",
    "read_bvh_figure",
]
