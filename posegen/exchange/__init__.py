"""To and from what other programs use: skeleton layouts and camera projection."""

from posegen.exchange.camera import Extrinsics, Intrinsics, intrinsics, look_at, project
from posegen.exchange.layouts import LAYOUTS, Layout, Source, convert

__all__ = ["LAYOUTS", "Extrinsics", "Intrinsics", "Layout", "Source", "convert", "intrinsics", "look_at", "project"]
