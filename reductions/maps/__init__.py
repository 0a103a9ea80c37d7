"""Maps from problem to problem that keep every answer, one file each."""
