"""The hierarchy: what must cross the handoff, for each way to retrieve."""
