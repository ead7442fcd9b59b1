"""Parts of the server timed alone, in this process; the only benchmarks that import the memory."""
