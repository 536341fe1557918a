"""Enforcement by custom operators of the domain `sonnx`, written in Python."""
