"""The memory engine: stores experiences, compiles guidelines, learns from outcomes. No HTTP, no
environment.
"""
