"""Kernels of the measures of clips. They are a package of their own: editing a measure does not recompile all kernels."""
