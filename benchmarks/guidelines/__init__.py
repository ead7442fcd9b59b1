"""What the server hands to an agent, read as a whole: a corpus of lessons, tasks and pairs."""
