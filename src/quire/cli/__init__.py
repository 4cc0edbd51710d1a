"""A door: what a person runs from a terminal."""
