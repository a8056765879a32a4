"""Agents: whatever proposes."""
