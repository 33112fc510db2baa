"""Briefs, the prompts for agents, and their templates."""
