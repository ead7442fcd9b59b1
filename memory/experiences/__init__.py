"""Lessons enter the bank; echoes are recognised, near-twins merged."""
