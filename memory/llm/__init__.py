"""Asks a language model: provider, roles, attempts, budget, replies, redaction."""
