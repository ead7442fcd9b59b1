"""Compiles chosen memories into a guideline: budgeted, cited, quoted."""
