"""Team."""
