"""Quantisers, one file each."""
