"""Tracing: what watches.
"""
