"""Measures of trained models: ranking, verification and regression."""
