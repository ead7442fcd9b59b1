"""Numbered, linear migrations."""
