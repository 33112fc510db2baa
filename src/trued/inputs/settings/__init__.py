"""trued.toml, flags and environment variables."""
