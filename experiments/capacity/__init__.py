"""What the state of a published model holds, by arithmetic on its ``config.json`` alone."""
