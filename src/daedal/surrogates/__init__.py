"""Surrogates: models of the objective, fitted to values, whose maxima are candidates worth evaluating."""
