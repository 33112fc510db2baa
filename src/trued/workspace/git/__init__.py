"""Git: the private store, clones for agents, clean rooms for checks, and landing."""
