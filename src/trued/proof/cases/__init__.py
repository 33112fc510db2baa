"""Decides which cases count: what cases may start, and whether a program that does nothing useful would pass them."""
