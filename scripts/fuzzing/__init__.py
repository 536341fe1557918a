"""Models that nobody would make, and what `sonnx_ort` does with them."""
