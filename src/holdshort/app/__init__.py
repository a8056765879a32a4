"""Floor 5: configuration, wiring and every operation a person can ask for.

What belongs here: the client and the documents it gives. What does not: rules about runs.
"""
