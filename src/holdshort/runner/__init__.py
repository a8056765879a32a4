"""Floor 2: the async loop around the kernel.

What belongs here: performing commands, leases, the inbox. What does not: rules; those are the
kernel's.
"""
