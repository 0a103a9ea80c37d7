"""Sequence models: cells and their states; nothing here knows of Alice."""
