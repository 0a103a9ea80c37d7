"""Ways of rounding to a quantiser's values, one file each."""
