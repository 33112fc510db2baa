"""Trackers: where tickets are held, one file each."""
