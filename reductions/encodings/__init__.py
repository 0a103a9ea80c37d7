"""Encodings of the input as tokens, one file each."""
