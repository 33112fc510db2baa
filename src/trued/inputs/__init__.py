"""Reads what people write (plans, tickets, requirements, settings), one module per format; detects project kinds."""
