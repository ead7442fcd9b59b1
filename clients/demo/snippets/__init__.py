"""Small tasks in Python and SQL, notes that people pass on about them, and an agent that tries what
the notes say. The interpreter decides.
"""
