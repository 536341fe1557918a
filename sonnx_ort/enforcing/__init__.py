"""Makes models enforce the profile at run time.

`lowering.py` plans and applies the enforcement; `python/` and `native/` hold one backend each.
"""
