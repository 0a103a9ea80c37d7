"""statebound: executable communication lower bounds for fixed-state sequence models."""

__version__ = "0.1.0"
