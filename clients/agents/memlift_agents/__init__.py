"""Adapters of agent frameworks over MemLift's client, one module each.

A run asks for a guideline when it begins and reports how it went when it ends. A module imports its
framework; install what it needs as an extra, such as `memlift-agents[langchain]`.
"""
