"""What kind of project a commit holds."""
