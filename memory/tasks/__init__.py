"""Who acts and on what: agents, categories, tasks."""
