"""The problems, one file each: the stem is the name on the command line."""
