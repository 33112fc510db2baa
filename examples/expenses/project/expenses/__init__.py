"""Shared expenses, and a program that shows them."""
