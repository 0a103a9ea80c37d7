"""Constructed protocols whose message is a codeword, one file each."""
