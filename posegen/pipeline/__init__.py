"""The pipeline: generate, embed, train, evaluate and animate by one command that resumes, and estimates of its costs."""
