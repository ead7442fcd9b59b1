"""Rules that people wrote from one example each: what a memory finds out about their worth."""
