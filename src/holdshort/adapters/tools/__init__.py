"""Tools: what acts.
"""
