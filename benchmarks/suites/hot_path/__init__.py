"""Suites `retrieve`, `encode`, `scan`, `growth` and `writes`: what a retrieval costs, beside the
first release or a floor in the same run.
"""
