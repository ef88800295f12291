"""Captions: visible segments, statements, grammar and sentences; and texts parsed into statements."""
