"""Tracing: what watches."""
