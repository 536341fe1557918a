"""Guards of values let pass exactly what is finite, or what a contract says of an input.

Proved of inputs of any rank, sizes and elements: `Contract.finite`, `Contract.range` and
`Contract.whole` where each element is compared, and `Graph.finite`, whose guard has the same nodes.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import onnx
import pytest
import z3
from onnx.numpy_helper import to_array

import sonnx_ort
from sonnx_ort import Contract, ValueContract
from sonnx_ort.profile.contract_rules import contract_requirement, contract_rule
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import Rule
from support.graphs import parse
from support.proofs.guards import passes
from support.proofs.mutation import Mutation, number, operator, swapped
from support.proofs.nodes import NAME, are_kept, passing
from support.proofs.tensors import operand
from support.proofs.theorem import NotProved, Question, prove, refute

T = ElementType
TEXT = f"({{0}}[] x) => ({{0}}[] y) {{{{ [{NAME}] y = Identity(x) }}}}"


@dataclass(frozen=True)
class Door:
    """An input with a contract, in front of a node.

    Attributes:
        element_type: Its type.
        contract: What it may be.
    """

    element_type: ElementType
    contract: ValueContract

    def __str__(self) -> str:
        """Say which: `float, (0.5, 2)`."""
        return f"{self.element_type}, {'whole' if self.contract.whole else self.contract.range}"

    @cached_property
    def emitted(self) -> onnx.ModelProto:
        """What the native backend makes of the model."""
        text = TEXT.format(self.element_type)
        return sonnx_ort.rewrite(
            parse(text), backend="native", operators="default", contract=Contract((self.contract,))
        )

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the contract."""
        return tuple(
            replace(contract_rule(entry), requirement=contract_requirement(entry))
            for entry in self.contract.demands
        )

    def question(self, model: onnx.ModelProto, rank: int | None = None, *, whole: bool) -> Question:
        """That exactly what keeps them passes, of an input of any rank or of a small one."""
        x = operand("x", self.element_type, z3.Int("rank") if rank is None else rank)
        small = [] if rank is None else [x.tensor.sizes.at(axis) <= 2 for axis in range(rank)]
        claim = passing(self.rules, ["x"], [x.tensor], model, whole=whole)
        return Question(model, [x], frozenset({NAME}), claim, small)


FLOATS = (T.FLOAT, T.DOUBLE)
SOME_INTEGERS = (T.INT8, T.INT32, T.INT64, T.UINT8, T.UINT64)
DOORS = [
    *(Door(kind, ValueContract("x")) for kind in FLOATS),
    *(Door(kind, ValueContract("x", (0.5, 2))) for kind in (T.FLOAT16, *FLOATS)),
    *(Door(kind, ValueContract("x", (1, 9))) for kind in SOME_INTEGERS),
    *(Door(kind, ValueContract("x", (0, 9))) for kind in SOME_INTEGERS),
    Door(T.FLOAT, ValueContract("x", whole=True)),
]
COMPARED = (
    number("within_code", 0),
    operator("within_is_within", "Or"),
    operator("within_is_large_enough", "Less"),
)
FAULTS = [
    *((door, fault) for door in DOORS[:5] for fault in COMPARED),
    *((door, number("within_code", 0)) for door in DOORS[5:]),
    *((door, number("within_limit", 2)) for door in DOORS[5:-1]),
    (DOORS[-1], swapped("within_above")),
]


@pytest.mark.parametrize(
    "door", [*DOORS[:-1], pytest.param(DOORS[-1], marks=pytest.mark.thorough)], ids=str
)
def test_exactly_what_keeps_the_contract_passes(door: Door) -> None:
    prove(door.question(door.emitted, whole=True))


@pytest.mark.parametrize(("door", "fault"), FAULTS, ids=str)
def test_fault_is_refuted_by_an_input_that_shows_it(door: Door, fault: Mutation) -> None:
    broken = fault.of(door.emitted)
    _, feeds = refute(door.question(broken, rank, whole=False) for rank in (0, 1))
    keeps = are_kept(door.rules, ["x"], [feeds["x"]])
    assert passes(broken, {NAME}, feeds) is not keeps
    assert passes(door.emitted, {NAME}, feeds) is keeps


@pytest.mark.parametrize("door", [DOORS[0], DOORS[-1]], ids=str)
def test_what_is_assumed_proves_nothing_false(door: Door) -> None:
    question = door.question(door.emitted, whole=True)
    for claim in (lambda _, run: run.passes, lambda _, run: z3.Not(run.passes)):
        with pytest.raises(NotProved, match=r"^(sat|unknown): "):
            prove(question.about(claim))


def of_the_flag(model: onnx.ModelProto) -> list[tuple[str, object]]:
    """The nodes that compare elements, up to the last Cast, with the numbers of constants."""
    made = [node for node in model.graph.node if node.name != NAME]
    last = max(place for place, node in enumerate(made) if node.op_type == "Cast")
    return [
        (n.op_type, to_array(n.attribute[0].t).tolist() if n.op_type == "Constant" else None)
        for n in made[: last + 1]
    ]


@pytest.mark.parametrize("rule", ["Graph.finite", "Graph.finite_values"])
@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_what_a_node_computes_is_compared_by_the_nodes_of_a_contract(
    kind: ElementType, rule: str
) -> None:
    """So what is proved of these holds of them."""
    of_output = sonnx_ort.rewrite(parse(TEXT.format(kind)), backend="native", operators=rule)
    assert of_the_flag(of_output) == of_the_flag(Door(kind, ValueContract("x")).emitted)
