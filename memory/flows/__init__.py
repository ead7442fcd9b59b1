"""One file per use case, read from top to bottom; the only place where rooms meet."""
