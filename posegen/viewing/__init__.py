"""Pictures of motion: animated GIFs and contact sheets, drawn with Matplotlib."""
