"""Makes models enforce the profile at run time.

`lowering.py` plans and applies the enforcement, with one of three backends.
"""
