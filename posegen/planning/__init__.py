"""Scene planning: population, quotas, segments, interactions, timing."""
