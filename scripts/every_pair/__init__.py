"""Every pair of 16-bit floats through both backends: what `exhaustive.py` runs."""
