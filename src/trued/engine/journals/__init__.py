"""What remembers: one file a kind of journal."""
