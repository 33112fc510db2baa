"""Timestamps in files that people and programs read."""

from datetime import UTC, datetime


def utc_timestamp(when: float) -> str:
    """Seconds since the epoch as `2025-01-31T12:00:00Z`."""
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
