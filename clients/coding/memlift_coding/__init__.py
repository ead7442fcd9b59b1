"""Coding agents ask at the prompt, and the last test run of a turn is the result."""
