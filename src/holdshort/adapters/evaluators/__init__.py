"""Evaluators: what judges.
"""
