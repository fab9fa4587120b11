"""Files: SQLite databases, inputs, atomic replacement."""
