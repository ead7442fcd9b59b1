"""A working loop by each way in, as a user would write it."""
