"""Where agents work and checks run: git for the content, a sandbox for the processes."""
