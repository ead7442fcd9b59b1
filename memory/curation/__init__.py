"""People and agents change what is in the bank."""
