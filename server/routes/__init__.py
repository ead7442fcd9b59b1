"""What a route may ask for, one module per noun."""
