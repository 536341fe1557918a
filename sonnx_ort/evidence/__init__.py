"""The evidence record of a check or a rewrite."""
