"""What the task ``text`` is made of: captions as words, what differs from them in one statement, and encoders of sentences."""
