"""One small protocol a file: what the shell needs from the world, as guarantees.

What belongs here: protocols and the plain values they exchange. What does not: any I/O.
"""
