"""Suite `structure`: how much of the source a reader has to hold, read from the source alone."""
