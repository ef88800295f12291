"""Checks: statements of captions, quotas and physical limits against the joints of synthesized motion."""
