"""One run: its description, its loop, its run file."""
