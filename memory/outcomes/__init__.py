"""Reports are taken in, paired, given precedence, applied and withdrawn."""
