"""Versions 1 and 6 broadcast a second operand exactly as their document allows, or refuse.

It has one element, or its shape is the part of the first one's that starts at `axis`, or ends at
the last axis. Unknown ranks are any ranks.
"""

from itertools import product

import pytest

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS
from support.graphs import parse
from support.proofs.alignments import LinedUp
from support.proofs.broadcasts import NAME
from support.proofs.guards import computing, depending, passes, up_to_names
from support.proofs.mutation import Mutation, number, off_by, operator, swapped
from support.proofs.theorem import prove, refute

ANY = "float[] A, float[] B"
AXES = (None, 0, 1, 2, -1, -2, -3)
OF_ANY_RANK = [LinedUp(ANY, axis) for axis in AXES] + [
    LinedUp(inputs, axis)
    for inputs in ("float[?,?] A, float[] B", "float[] A, float[?,?] B", "float[?,?] A, float B")
    for axis in (None, 1, -2)
]
QUICK = {LinedUp(ANY, axis) for axis in (None, 1, -2)}
KNOWN = {
    "a part that is declared": LinedUp("float[?,3,4] A, float[3] B", 1),
    "the last axis, declared": LinedUp("float[?,2] A, float[2] B"),
    "one element, declared": LinedUp("float[?,?] A, float[1] B", -1),
    "the first axis, of sizes that are told": LinedUp("float[?,2] A, float[2] B", 0),
}
FAULTS: dict[str, tuple[LinedUp, tuple[Mutation, ...]]] = {
    "at the last axis": (
        LinedUp(ANY),
        (number("code", 0), swapped("rank_or_code"), operator("matches", "And"),
         operator("fits", "And"), swapped("not_negative")),
    ),
    "from an axis on": (LinedUp(ANY, 1),
        (off_by("axis", 1), off_by("axis", -1), number("number", 0), swapped("joined"))),
    "from an axis on, counted from the end": (LinedUp(ANY, -2),
        (off_by("axis", 1), swapped("is_negative"), operator("is_inside", "Less"))),
    "known ranks": (LinedUp("float[?,?,?] A, float[?] B", 1),
        (number("number", 0), operator("matches", "And"), swapped("rank_or_code"))),
}  # fmt: skip


def marked(quick: set[LinedUp]) -> list[object]:
    """The forms of any rank, of which all but the quick ones are thorough."""
    return [
        pytest.param(form, id=str(form), marks=() if form in quick else pytest.mark.thorough)
        for form in OF_ANY_RANK
    ]


@pytest.mark.parametrize("form", marked(QUICK))
def test_second_operand_is_lined_up_exactly_if_it_lines_up(form: LinedUp) -> None:
    for question in form.lining_up():
        prove(question)


@pytest.mark.parametrize("form", marked({LinedUp(ANY, 1)}))
def test_what_is_lined_up_gets_the_shape_of_the_first_operand_or_is_refused(form: LinedUp) -> None:
    for question in form.expanding():
        prove(question)


@pytest.mark.parametrize("form", OF_ANY_RANK, ids=str)
def test_two_proofs_speak_of_the_whole_graph(form: LinedUp) -> None:
    """Each node is in one of the parts, and what may refuse in the second waits for the first."""
    nodes = [node for node in form.emitted.graph.node if node.name != NAME]
    guarded = next(node for node in form.emitted.graph.node if node.name == NAME)
    first = computing(form.emitted, [form.aligned]).graph.node
    second = computing(form.emitted, guarded.input, [form.aligned]).graph.node
    assert all(node in first or node in second for node in nodes)
    waiting = depending(form.emitted, [form.aligned])
    assert all(node.output[0] in waiting for node in second if node.name)
    expanded = [node.input[0] for node in second if node.op_type == "Expand"]
    assert expanded == [form.aligned]


FLOATS = ("float", "double", "float16")
INTEGERS = ("int32", "uint32", "int64")
LEGACY = {
    **dict.fromkeys(
        ("Add", "Div", "Mul", "Sub"), ("double", "float16", "int32", "uint32", "int64")
    ),
    **dict.fromkeys(("And", "Or", "Xor"), ("bool",)),
    "Equal": ("int32", "int64", "bool"),
    **dict.fromkeys(("Greater", "Less", "Pow"), FLOATS),
}
"""The types in which versions 1 and 6 broadcast; version 1 computes floats alone."""

_OF_ONE_SHAPE = 3
"""How many nodes refuse operands that do not have one shape: a decision, and a guard of each."""


@pytest.mark.parametrize("axis", [None, 1, -2], ids=str)
@pytest.mark.parametrize("operator", LEGACY)
def test_every_operator_lines_its_operands_up_by_the_same_nodes(
    operator: str, axis: int | None
) -> None:
    """They differ in the code that they tell.

    A Div of integers decides about shapes and elements at once, by guards that are proved alone.
    """
    *proved, _ = LinedUp(ANY, axis).emitted.graph.node
    given = {name: name for name in "AB"}
    expected = up_to_names(proved, given, codes=False)
    at = "" if axis is None else f", axis = {axis}"
    kinds = [(kind, opset) for kind in LEGACY[operator] for opset in (1, 6)]
    if operator in {"Add", "Div", "Mul", "Sub"}:
        kinds = [(kind, opset) for kind, opset in kinds if opset == 6 or kind in FLOATS]
    for kind, opset in kinds:
        result = OPERATORS[operator].result_type or kind
        node = f"[{NAME}] y = {operator} <broadcast = 1{at}> (A, B)"
        made = parse(f"({kind}[] A, {kind}[] B) => ({result}[] y) {{ {node} }}", opset=opset)
        emitted = sonnx_ort.rewrite(
            made, backend="native", broadcast="explicit", operators="all,-Graph"
        )
        nodes = list(emitted.graph.node)
        while nodes[0].op_type == "Cast":
            cast = nodes.pop(0)
            given[cast.output[0]] = given[cast.input[0]]
        alike = len(proved) - (_OF_ONE_SHAPE if operator == "Div" and kind in INTEGERS else 0)
        found = up_to_names(nodes[:alike], given, codes=False)
        assert found == expected[:alike], (kind, opset)


@pytest.mark.parametrize("form", KNOWN.values(), ids=KNOWN)
def test_what_is_known_of_the_sizes_changes_nothing(form: LinedUp) -> None:
    for question in form.whole():
        prove(question)


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param((a, b), id=f"{a} and {b}", marks=() if a < 3 else pytest.mark.thorough)
        for a, b in product(range(1, 5), repeat=2)
        if b <= a
    ],
)
def test_every_small_rank_lines_up_exactly_as_it_may(ranks: tuple[int, int]) -> None:
    a, b = (",".join("?" * rank) for rank in ranks)
    for axis in (None, *range(-ranks[0] - 1, ranks[0] + 1)):
        for question in LinedUp(f"float[{a}] A, float[{b}] B", axis).whole():
            prove(question)


@pytest.mark.parametrize(
    ("form", "fault"),
    [
        pytest.param(form, fault, id=f"{name}: {fault}")
        for name, (form, faults) in FAULTS.items()
        for fault in faults
    ],
)
def test_faults_are_refuted_by_shapes_that_show_them(form: LinedUp, fault: Mutation) -> None:
    broken = fault.of(form.emitted)
    _, feeds = refute(form.small_shapes(broken))
    keeps = form.keeps_rules(feeds)
    assert passes(broken, {NAME}, feeds) is not keeps
    assert passes(form.emitted, {NAME}, feeds) is keeps
