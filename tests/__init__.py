"""Tests, by the truth they check."""
