"""Enforcement by standard operators: guards in front of nodes, and the record of how to undo it."""
