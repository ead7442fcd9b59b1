"""Streaming evaluation: questions arrive, are forecast and resolve; memory learns in between."""
