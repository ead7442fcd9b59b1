"""What of the schema is in a file of a namespace, how it is read out, and how it is read in."""
