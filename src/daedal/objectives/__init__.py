"""What is optimised: a problem, a function, a program; bound to a run."""
