"""Candidates are acquired, proposed, tried and decided."""
