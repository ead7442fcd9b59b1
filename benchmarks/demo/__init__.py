"""The demonstration as a benchmark: several seeds, what they came to, and its curve."""
