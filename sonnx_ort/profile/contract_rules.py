"""The rules of contracts: what a model's user demands of its inputs and values.

They are our own, and bind the values that a contract names.
"""

import functools

from sonnx_ort.profile.contract import ValueContract
from sonnx_ort.profile.requirements.elements import OnElements, on_elements
from sonnx_ort.profile.rule import Illustration, Rule
from sonnx_ort.profile.source import Source, Standing, Words

CONTRACT = "Contract"
"""What the ids of these rules begin with, in place of an operator."""


def contract_rule(entry: ValueContract) -> Rule:
    """The rule that binds a value with a contract."""
    return WITHIN_FINITE if entry.range is None else WITHIN_RANGE


@functools.cache
def contract_elements(entry: ValueContract) -> OnElements:
    """The requirement on a value with a contract."""
    return on_elements(entry.value, entry.numbers, contract_rule(entry).requirement.example)


def _source(remark: str) -> Source:
    return Source("SONNX graph", "none", None, Standing.OWN, Words.OURS, remark)


WITHIN_RANGE = Rule(
    "Contract.range",
    1317,
    "Every element of the value lies in the range of its contract, and none is NaN.",
    _source(
        "No document demands it: the contract of a model's user does, which `contract` gives. It "
        "is checked where the value enters the graph, or behind the node that computes it."
    ),
    on_elements(
        "value",
        ValueContract("value", (0.0, 1.0)).numbers,
        Illustration(
            "image [0.0, 0.5], with range = [0, 1]",
            "image [0.0, 7.5], with range = [0, 1]",
            "scale or clip the values before the run, or correct the contract",
        ),
    ),
    unenforced="ONNX Runtime 1.32.0 knows of no range, and computes with any number. What is "
    "proved from the contract does not hold then, also where a number ends the process.",
)

WITHIN_FINITE = Rule(
    "Contract.finite",
    1318,
    "Every element of a value whose contract says so is a finite number.",
    _source(
        "No document demands it: the contract of a model's user does. `Graph.finite` is the same "
        "for outputs."
    ),
    on_elements(
        "value",
        ValueContract("value").numbers,
        Illustration(
            "image [0.0, 0.5], with finite = true",
            "image [0.0, NaN], with finite = true",
            "keep NaN and infinities out, or correct the contract",
        ),
    ),
    unenforced="ONNX Runtime 1.32.0 silently computes with NaN and infinities. What is proved "
    "from the contract does not hold then.",
)

CONTRACT_RULES = (WITHIN_RANGE, WITHIN_FINITE)
"""The rules that a contract selects."""
