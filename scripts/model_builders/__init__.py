"""Builds the bundled models: one module per subject, and `catalog.py` names them all."""
