"""Enforcement by the Python-defined operators of the domain `sonnx`."""
