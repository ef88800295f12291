"""What models of several tasks are made of, and what draws their answers together."""
