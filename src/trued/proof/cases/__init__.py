"""Which cases count: what they may start, and whether a program that does nothing useful would pass them."""
