"""Floor 6: what people type and see; prints and exits.

What belongs here: options, text, exit codes. What does not: anything that talks to a store or to
the kernel except through `holdshort.app`.
"""
