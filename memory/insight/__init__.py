"""Reads only: weights, history, effects, health."""
