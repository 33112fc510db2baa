"""Where agents work and checks run: git store, clones and clean rooms (`git`), and the sandbox around them
(`sandbox`)."""
