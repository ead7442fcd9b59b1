"""The nouns of the memory, frozen and small, with their limits."""
