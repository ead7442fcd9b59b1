"""A world in which it is known what every memory is worth, and how well each rule finds out."""
