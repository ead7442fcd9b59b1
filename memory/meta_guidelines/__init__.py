"""How memory is used is learned, too: bank, reflection, selection."""
