"""Captions: grammar, statements, sentences, and parsing text back into statements."""
