"""Configs: schema, presets, YAML files, overrides."""
