"""Shapes on the wire: what comes in is checked here, what goes out is named here."""
