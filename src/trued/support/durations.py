"""Durations as text for people, the same in the terminal, the report and messages."""


def duration(seconds: float) -> str:
    """The duration in at most two units: `40ms`, `9.5s`, `45s`, `3m05s`, `2h13m`, `1d04h`."""
    if 0 < seconds < 0.0995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"
