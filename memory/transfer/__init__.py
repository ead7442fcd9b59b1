"""A namespace leaves as a file and comes back from one."""
