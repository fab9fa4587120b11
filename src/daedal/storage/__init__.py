"""Files: SQLite databases, checkpoints, atomic replacement."""
