"""Kernels of exports. They are a package of their own, so that editing a format does not recompile all kernels."""
