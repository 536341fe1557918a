"""Checks a certificate: that obligations of a model hold in every run that ONNX Runtime finishes.

A certificate is a list of steps from the inputs and constants of a model to its proved obligations.
A step claims the type, the shape or the elements of one value, and has to follow from earlier steps
by the rule of the operator that computes the value. It needs the kernel, and trusts no other part
of sonnx_ort. The folder of the kernel also runs alone:

    python -m kernel model.onnx certificate.json [enforced.onnx]

It trusts that ONNX Runtime holds the declared types and fixed sizes of inputs, that kernels do what
the documents of ONNX say in the versions and for the attributes below, and the type constraints in
the schemas of onnx. What it does not know it rejects.

    certificate, form  the certificate: its head, its steps, its obligations
    reading            a model, strictly: what can be read in two ways is rejected
    fields, tensors    the fields of a model of which is known what they say, and its tensors
    model              what is established of a model, step by step, by the rules of the kernel
    types              the types of results, as the kernel derives them
    rules              what each rule of the profile demands of a node: what is stated in the file,
                       and what is computed
    enforced, facts    that another model is this one and guards, and what holds behind them
    guards             what the guards of each rule say
    names              a name of its own for each value
    node               what these are about
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
