"""Builds the bundled models: one module per subject, all named in `build_models.py`."""
