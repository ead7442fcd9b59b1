"""HTTP over the memory, thin."""
