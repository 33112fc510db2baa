"""Git: the private store, clones, landing."""
