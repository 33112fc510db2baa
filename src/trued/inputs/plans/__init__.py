"""Plans in Markdown."""
