"""Tools: what acts."""
