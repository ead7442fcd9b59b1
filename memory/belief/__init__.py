"""What is believed of memories: policies, fold, ledger, guard, strength, effect."""
