"""A reading list, and a program that shows it."""
