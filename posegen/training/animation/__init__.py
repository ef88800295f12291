"""Motion for texts from a trained model, and its evaluation on the captions of a test split."""
