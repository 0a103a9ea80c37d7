"""Training: encoders with their quantisers in the loop, and Bobs who read them.

What needs torch imports it inside its functions; recipes do not.
"""
