"""Captions in other words, by a language model behind an OpenAI-compatible server: an overlay beside a dataset."""
