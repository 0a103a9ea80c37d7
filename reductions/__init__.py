"""Where models and protocols meet: cut, quantise, serialise, resume, and maps."""
