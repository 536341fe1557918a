"""The custom operators of the domain `sonnx.compiled`, written in C++.

They need no Python: every language with an ONNX Runtime registers their library. `kernels.cc` has
what ONNX Runtime calls, `loops.h` and `arithmetic.h` compute, and `operators.inc`, which
`scripts/compiled_operators.py` writes from the profile, says what there is.
"""
