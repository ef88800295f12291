"""The library: actions, themes, styles, interactions and words as YAML files, their schema, and the loader."""
