"""Feet and legs: footsteps, stances, swings and leg kinematics."""
