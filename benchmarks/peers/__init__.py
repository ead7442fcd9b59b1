"""Other memories, each in an environment of its own, started and asked as ours is."""
