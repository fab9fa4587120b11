"""Searches: async functions that ask for the values of candidates, and the algorithms that users choose by name."""
