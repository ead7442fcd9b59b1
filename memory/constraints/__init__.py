"""What separates success from failure on a task, whoever ran it."""
