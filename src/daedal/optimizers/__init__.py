"""Optimizers: each asks for rows and is told their fitness."""
