"""Evaluates rows: counted, checked, cached, spread over workers."""
