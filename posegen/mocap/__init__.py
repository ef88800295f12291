"""Mocap clips as actions of a library: reading, retargeting to channels, steps, repetitions, words, and the files."""
