"""The room in which evidence is taken: a clean checkout, what is frozen in it, and the environment around it."""
