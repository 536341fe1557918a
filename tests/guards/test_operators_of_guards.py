"""One list says what guards are made of, and no guard of any rule adds another operator."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import onnx
import pytest
from certificates.test_guards import GUARDED, with_inferred_result

import sonnx_ort
from sonnx_ort.checker.expressions import Expressions, Tree
from sonnx_ort.guards.catalog import breach, deciding_guard
from sonnx_ort.guards.guard import OPERATORS, GuardedNode, Numbers
from sonnx_ort.guards.smallest_element import settling_flag
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.contract import SizeContract, ValueContract
from sonnx_ort.profile.contract_rules import ShapeDemand, contract_requirement
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.graph import finite_elements
from sonnx_ort.profile.rule import Status
from sonnx_ort.terms.operand import Operand
from sonnx_ort.vectors.examples import read
from support.derived import alone
from support.operator_cases import OPERATOR_CASES
from support.varied_operands import examples, is_of

DECISIONS = frozenset({"Identity", "If", "Loop", "Reshape", "Where"})
"""What makes a failure of a flag, and hides the shape of a value from ONNX Runtime."""

EXAMPLES = [*examples()]

OPSETS = (9, 10, 11, 12, 13, 18, 21)
KNOWN = ("shape", "rank", "nothing")


class Recorded(Expressions):
    """Expressions of which it is known what operators they have."""

    def __init__(self, opset: int) -> None:
        super().__init__(opset)
        object.__setattr__(self, "operators", set[str]())

    def add(
        self,
        operator: str,
        inputs: Sequence[Tree],
        purpose: str,
        attributes: Mapping[str, int | tuple[int, ...]] | None = None,
    ) -> Tree:
        self.operators.add(operator)
        return super().add(operator, inputs, purpose, attributes)

    def constant(
        self, numbers: Numbers, purpose: str, element_type: ElementType = ElementType.INT64
    ) -> Tree:
        self.operators.add("Constant")
        return super().constant(numbers, purpose, element_type)


def known_of(operand: Operand, kind: ElementType, known: str, *, elements: bool) -> Operand:
    """An operand of a type, of which more or less is known; the names of axes keep their type."""
    shape = operand.shape
    own = operand.constant is not None and operand.constant.dtype == np.int64
    if shape is not None and known != "shape":
        shape = (None,) * len(shape) if known == "rank" else None
    constant = operand.constant if elements else None
    return replace(operand, element_type="int64" if own else kind, shape=shape, constant=constant)


def of_rules(nodes: Recorded, kind: ElementType) -> None:
    """Make the guard of each rule, whatever is known of its operands."""
    for rule, text in EXAMPLES:
        operands, attributes = read(text)
        bound = rule.of_node(attributes)
        guard = deciding_guard(bound.requirement)
        kernels = OPERATOR_CASES[rule.id.partition(".")[0]].kernels
        if guard is None or kind not in kernels or not (guard.binds(kind) and is_of(kind, rule)):
            continue
        names = [operand.name for operand in operands]
        for known, elements in product(KNOWN, (True, False)):
            given = [known_of(each, kind, known, elements=elements) for each in operands]
            judged = bound.requirement.judge(bound.select_operands(names, given))
            if judged.status is not Status.VIOLATED:
                values = [("value", name) for name in bound.select_operands(names, names)]
                guard.look(nodes, values, GuardedNode(given, kind, kind))


SIZES = SizeContract("n", 4, 96, multiple_of=4)
CONTRACTS = (
    ValueContract("x", (0.5, 2.0)),
    ValueContract("x", (-1.0, 2.0)),
    ValueContract("x"),
    ValueContract("x", whole=True),
    ValueContract("x", ((0.5, 2.0), (1.0, 3.0)), axis=1),
)
DEMANDS = (ShapeDemand("x", (3,)), ShapeDemand("x", (SIZES, SIZES), ((1, "x", 0),)))


def of_contracts(nodes: Recorded, kind: ElementType) -> None:
    """Make the guard of each kind of contract, and of values that have to be finite."""
    known = GuardedNode([Operand("x", "x", "", kind, shape=(None, None))], kind, kind)
    floats = kind.family is Family.FLOAT
    demanded = [contract_requirement(each) for each in (*DEMANDS, *(CONTRACTS if floats else ()))]
    demanded += [finite_elements("x")] if floats else [contract_requirement(CONTRACTS[0])]
    for each in demanded if kind is not ElementType.BOOL else ():
        breach(nodes, each, [("value", "x")], known)


def of_smallest_elements(nodes: Recorded, kind: ElementType) -> None:
    """Make the flags of the smallest elements."""
    known = GuardedNode([Operand(name, name, "") for name in "xz"], kind, kind)
    guards = [deciding_guard(RULES[name].requirement) for name in ("Div.int.C1", "Div.int.C2")]
    settling_flag(nodes, [("value", "x"), ("value", "z")], known, guards)


def operators_of(opset: int, kind: ElementType) -> set[str]:
    nodes = Recorded(opset)
    of_rules(nodes, kind)
    of_contracts(nodes, kind)
    of_smallest_elements(nodes, kind)
    return nodes.operators


def test_list_has_what_guards_of_any_rule_type_and_opset_add_and_no_more() -> None:
    with np.errstate(over="ignore"):
        found = [operators_of(*each) for each in product(OPSETS, ElementType)]
    assert set[str]().union(*found, DECISIONS) == OPERATORS


def added_to(model: onnx.ModelProto) -> set[str]:
    """The operators of the nodes that are not the one of y."""
    enforced = sonnx_ort.rewrite(model, backend="native", operators="all,-Graph")
    return {node.op_type for node in all_nodes(enforced) if "y" not in node.output}


def test_enforced_models_have_no_other_operators() -> None:
    scalars = alone("Div(x, z)", "float x, float z")
    texts = (*GUARDED.values(), alone("Div(x, x)", "int32[n] x"), scalars)
    found = set[str]().union(*(added_to(with_inferred_result(text)) for text in texts))
    assert DECISIONS <= found <= OPERATORS


def test_other_operator_is_in_no_expression() -> None:
    with pytest.raises(ValueError, match=r"^guards have a Relu, and OPERATORS does not name it$"):
        Expressions(17).add("Relu", [("value", "x")], "relu")
