"""Spaces: variables that are more than bits, and how they are coded in bits."""
