"""Writes the Python client's models, typed dictionaries and operations from the contract."""
