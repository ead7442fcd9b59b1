"""Predictions, settlements and their scores."""
