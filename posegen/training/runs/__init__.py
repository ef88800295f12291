"""The folder of a run: what lies in it, while it goes on and when it is over."""
