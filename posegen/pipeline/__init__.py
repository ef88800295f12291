"""All stages in one run, from a config to trained models, and the estimate of their time and disk."""
