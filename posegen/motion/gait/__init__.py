"""Gait: curves of walking and running, cadence and step parameters."""
