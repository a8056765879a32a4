"""Agents: whatever proposes.
"""
