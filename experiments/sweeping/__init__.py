"""Sweeps: many points, measured by many workers, resumed where they were interrupted."""
