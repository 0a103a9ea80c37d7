"""Engines, tallies, estimates, results, figures and the command line."""
