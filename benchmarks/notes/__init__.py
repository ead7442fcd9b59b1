"""Notes of authors who are often wrong: what a memory finds out about them."""
