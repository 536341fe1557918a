"""The custom operators of the domain `sonnx`, written in Python and run by ONNX Runtime.

`arithmetic.py` has the computations, `kernel.py` makes kernels that never raise, and
`registration.py` registers them with onnxruntime-extensions.
"""
