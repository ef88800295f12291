"""Whether datasets stay what they are: under faults, damage and bad input."""
