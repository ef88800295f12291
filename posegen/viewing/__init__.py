"""Look at motion: animated GIFs and contact sheets, drawn by Pillow alone.

:func:`render` draws one sequence, :func:`render_all` several on one sheet. Both say what to install where Pillow is missing.
"""

from posegen.viewing.render import render, render_all

__all__ = ["render", "render_all"]
