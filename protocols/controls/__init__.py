"""Protocols whose result is known beforehand; they test the engines, one file each."""
