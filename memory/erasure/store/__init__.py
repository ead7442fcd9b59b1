"""What erasures and rollbacks read and write."""
