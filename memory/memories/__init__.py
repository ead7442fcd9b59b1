"""The one table of all kinds: texts, vectors, status, trust, visibility."""
