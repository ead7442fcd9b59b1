"""What is kept for how long: what was folded is closed, and what is old goes, slice by slice."""
