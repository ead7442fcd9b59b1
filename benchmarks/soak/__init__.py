"""A soak: many callers, two processes, kills in between, and a verdict on what is left."""
