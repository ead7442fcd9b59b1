"""Turns outcomes into beliefs and beliefs into weights. Pure functions: no clock, no database."""
