"""A namespace moves to another embedding model while it is served."""
