"""Floor 2: the stores behind ports/store.py.

What belongs here: SQL, encoding of events, keys. What does not: decisions about runs.
"""
