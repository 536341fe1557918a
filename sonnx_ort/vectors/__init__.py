"""The conformance vectors of the profile: cases of single nodes, and what engines make of them."""
