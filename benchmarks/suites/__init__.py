"""One module per suite."""
