"""Floor 3: the simulated world in which kernel and runner are tested."""
