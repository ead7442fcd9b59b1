"""What retention reads and writes, within one namespace."""
