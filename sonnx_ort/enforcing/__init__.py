"""Makes models enforce the profile at run time.

`planning.py` plans and applies the enforcement, with one of three backends.
"""
