"""Who may call, and the boundary that no data crosses."""
