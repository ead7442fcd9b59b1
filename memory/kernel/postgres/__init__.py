"""Opens Postgres, checks it, migrates it, and says who leads."""
