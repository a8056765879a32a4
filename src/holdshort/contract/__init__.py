"""Floor 1: text becomes a kernel contract, or errors with a place.

What belongs here: loading, schema, contradictions, binding to tool definitions. What does not:
rules about runs (kernel) and anything that touches stores or code.
"""
