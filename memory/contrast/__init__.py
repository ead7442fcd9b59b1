"""Trajectories become constraints: what separates success from failure on the same task, whoever
ran it. Also which kind of task it is (the taxonomy).
"""
