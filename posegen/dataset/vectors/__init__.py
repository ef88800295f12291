"""Vectors of a dataset's captions, which lie beside it: how they are stored, and how they are read."""
