"""Purple, and solo."""
