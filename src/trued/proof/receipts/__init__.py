"""A verdict that can be taken away, and checked by anybody."""
