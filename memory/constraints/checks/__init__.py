"""Observable checks of runs, and the test that tells which of them hold beyond their pair. Pure."""
