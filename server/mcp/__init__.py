"""The Model Context Protocol: the loop as tools, in the same process and by the same keys."""
