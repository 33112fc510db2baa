"""Reads plans in Markdown, and ticks what is proven in them."""
