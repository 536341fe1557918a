"""Certain shapes of values, from a list of verified operators."""
