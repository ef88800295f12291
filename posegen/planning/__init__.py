"""Scene planning: population, quotas, segments, tracks, interactions and scenes."""
