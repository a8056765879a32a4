"""The machine itself: frozen values and pure functions, standard library only.

What belongs here: every decision about a run. What does not: I/O, a clock, random numbers,
ids, logging, async. Time and randomness arrive inside observations and events.
"""
