"""What contrasting recorded runs of several agents yields, and whether it says anything."""
