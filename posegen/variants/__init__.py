"""Variants of a scene: parameters and transforms."""
