"""Ready experiments: each a TOML file that `statebound sweep NAME` runs."""
