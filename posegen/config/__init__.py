"""Configs: schema, loading with overrides, checks of quotas, and identity."""
