"""Paraphrases: captions reworded by a language model behind an OpenAI-compatible server, stored beside a dataset."""
