"""Chromium at a server as an operator runs it."""
