"""Kernels of derived fields. They are a package of their own, so that editing a field does not recompile all kernels."""
