"""What can be set, and how values are checked."""
