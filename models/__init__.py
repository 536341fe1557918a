"""The bundled example models with their expected results.

`names`, `path` and `load` give the models; `examples` and `example` give the manifest: sources,
inputs, and expected outputs or violations. `README.md` in this folder documents the manifest.
"""

from sonnx_ort.models.example import (
    Approximation,
    Case,
    Citation,
    Classification,
    Example,
    Expectation,
    Outputs,
    Rejection,
    RunViolation,
    StaticViolation,
    describe,
    describe_difference,
    same_elements,
)
from sonnx_ort.models.manifest import example, examples, load, names, path

__all__ = [
    "Approximation",
    "Case",
    "Citation",
    "Classification",
    "Example",
    "Expectation",
    "Outputs",
    "Rejection",
    "RunViolation",
    "StaticViolation",
    "describe",
    "describe_difference",
    "example",
    "examples",
    "load",
    "names",
    "path",
    "same_elements",
]
