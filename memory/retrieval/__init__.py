"""Finds and orders memories for a task. Pure functions over candidates."""
