"""Objectives: a problem, a function or a program, bound to a run."""
