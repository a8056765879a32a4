"""Evaluators: what judges."""
