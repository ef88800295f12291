"""What the machine is, and what is chosen for it: by facts, and by steps that are measured."""
