"""Conversion to and from other programs: skeleton layouts, camera projection, and BVH files."""
