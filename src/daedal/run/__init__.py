"""One run: its description, its loop, its checkpoints."""
