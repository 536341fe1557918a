"""Checks a certificate: that obligations of a model hold in every run that ONNX Runtime finishes.

A certificate is a list of steps from the inputs and constants of a model to its proved obligations.
A step claims the type, the shape or the elements of one value, and has to follow from earlier steps
by the rule of the operator that computes the value. This program trusts neither the analysis of
sonnx_ort nor any other part of it but the kernel, whose folder also runs alone:

    python -m kernel model.onnx certificate.json [enforced.onnx]

It trusts that ONNX Runtime holds the declared types and fixed sizes of inputs, that kernels do what
the documents of ONNX say in the versions and for the attributes below, and the type constraints in
the schemas of onnx. What it does not know it rejects.

    certificate, form  the certificate: its head, its steps, its obligations
    reading            a model, strictly: what can be read in two ways is rejected
    fields, tensors    the fields of a model of which is known what they say, and its tensors
    model              what is established of a model, step by step
    shapes, elements   what follows from a node: shapes, elements and types of its results
    rules              what each rule of the profile demands of a node: what is stated in the file,
                       and what is computed
    enforced, facts    that another model is this one and guards, and what holds behind them
    guards             what the guards of each rule say
    names              a name of its own for each value
    node, sizes        what these are about
    arithmetic         what sizes are of numbers, as kernels compute them
"""

from ..sizes import Rejected
from .certificate import check
from .form import FORMAT, Malformed, read_certificate
from .model import Model
from .names import with_unique_names
from .node import bodies_of

__all__ = [
    "FORMAT",
    "Malformed",
    "Model",
    "Rejected",
    "bodies_of",
    "check",
    "read_certificate",
    "with_unique_names",
]
