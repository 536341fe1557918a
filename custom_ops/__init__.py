"""The Python-defined operators of the domain `sonnx`, run by ONNX Runtime.

`arithmetic.py` has what they compute; `kernel.py` makes a total function of it, and
`registration.py` hands all of them to onnxruntime-extensions.
"""

from sonnx_ort.profile.operator import DOMAIN, DOMAIN_VERSION

__all__ = ["DOMAIN", "DOMAIN_VERSION"]
