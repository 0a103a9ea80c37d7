"""Trained models that others have published, as subjects: their weights alone are read."""
