"""Enforcement by standard operators: guards in front of nodes, and how to undo them."""
