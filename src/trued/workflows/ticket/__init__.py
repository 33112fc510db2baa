"""Ticket."""
