"""Which checks of recorded runs are admitted as constraints, and whether they hold elsewhere."""
