"""What every capability stands on: ids, text, faults, ports, the engine, the database."""
