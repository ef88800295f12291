"""What a trained model is good for: read again, asked, written for other programs."""
