"""Derived fields: arrays beside the joints, each a pure function of the content of a sequence and of counter-based draws."""
