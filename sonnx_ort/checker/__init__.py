"""Checks a certificate: that obligations of a model hold in every run that ONNX Runtime finishes.

A certificate names the obligations of a model that hold, and has no proofs. To check it is to
derive: in the order of the graph the checker establishes the type, the shape, the elements and the
numbers of each value, by the rule of the operator that computes it, and by a contract if there is
one. An obligation has to follow from these by the statement of its rule in the profile. The checker
needs `facts`, `profile`, `terms`, `guards` and onnx, and trusts no other part of sonnx_ort. It
also runs alone, where the folder of sonnx_ort lies:

    python -m sonnx_ort.checker model.onnx certificate.json [enforced.onnx]

It trusts that ONNX Runtime holds the declared types and fixed sizes of inputs, that kernels do what
the documents of ONNX say in the versions and for the attributes below, and the type constraints in
the schemas of onnx. What it does not know it rejects.

    certificate      its form and its obligations
    graphs           the graphs of a file and their nodes
    strict_reading   a model, strictly: what can be read in two ways is rejected
    model            what the engine of facts reads of a model
    derived_model    a model of which all is established that follows
    obligations      what the rules of the profile say of nodes and values, from what is established

and, loaded for certificates under contracts alone:

    contracts        what follows of a model within a contract, and what its rules say of values
    premises         what a contract presumes of a model, and what a model was conformed for

and, loaded for certificates of enforced models alone:

    enforcement      what a certificate says of an enforced model
    enforced, expressions
                     that another model is this one and guards, and what holds after them
    names            which nodes of an enforced model run, and by which names
    additions        which added nodes no run can regret
    guards           what the guards of each kind of rule say
"""

from sonnx_ort.checker.certificate import FORMAT, Malformed, check, read_certificate
from sonnx_ort.checker.derived_model import established
from sonnx_ort.checker.graphs import bodies_of, with_unique_names
from sonnx_ort.checker.model import Model
from sonnx_ort.facts.sizes import Rejected

__all__ = [
    "FORMAT",
    "Malformed",
    "Model",
    "Rejected",
    "bodies_of",
    "check",
    "established",
    "read_certificate",
    "with_unique_names",
]
