"""Which pairs contrasting recorded runs of several agents yields, how fast, and where tasks lie."""
