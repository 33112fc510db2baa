"""Workflows: one folder each, with its flow, replies, steps, files and view; its `__init__` holds its descriptor."""
