"""Floor 6: what people type and see; prints and exits.
"""
