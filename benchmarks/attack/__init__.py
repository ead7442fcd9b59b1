"""What a hostile key can do: scripted adversaries against a bank of honest agents, over HTTP."""
