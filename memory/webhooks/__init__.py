"""What happens in a namespace is told to addresses outside that asked to hear of it."""
