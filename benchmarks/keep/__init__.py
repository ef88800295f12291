"""How it is judged that nothing is lost, nothing changed, and nothing believed unchecked."""
