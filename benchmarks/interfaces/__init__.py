"""Ways into an agent: what each asks of its user, what comes back, and what it costs."""
