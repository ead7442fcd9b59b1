"""What was served and what became of it, as stored; and the states folded from both."""
