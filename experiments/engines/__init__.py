"""Engines: ways to count what a protocol does, one file each."""
