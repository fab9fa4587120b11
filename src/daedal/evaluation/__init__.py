"""Evaluation of candidates: counted, checked, and spread over workers."""
