"""An operator's work on a filled server, and what must hold while things go wrong."""
