"""What was served and with what result, as stored; and the states folded from both."""
