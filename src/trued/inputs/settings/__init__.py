"""Reads settings: trued.toml, flags and environment variables."""
