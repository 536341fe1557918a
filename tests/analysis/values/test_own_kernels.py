"""What is known of the results of our own kernels, which a model of the python backend has."""

from collections.abc import Mapping
from typing import Any

import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort import Contract, ValueContract
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.profile.operator import DOMAIN
from support.graphs import parse

KERNELS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "CheckedDiv": ("(float[n, 3] x, float[n, 3] y) => (float[?, ?] z) { z = Div(x, y) }", {}),
    "CheckedMax": (
        "(float[n, 3] x, float[n, 3] y, float[n, 3] w) => (float[?, ?] z) { z = Max(x, y, w) }",
        {"operators": "Max"},
    ),
    "ArgMaxOperands": (
        "(float[n, 3] x) => (int64[?, ?] z) { z = ArgMax<axis = 1>(x) }",
        {"operators": "ArgMax"},
    ),
    "SliceOperands": (
        """(float[n, 3] x, int64[2] s, int64[2] e, int64[2] a, int64[2] t) => (float[?, ?] z)
        { z = Slice(x, s, e, a, t) }""",
        {"operators": "Slice"},
    ),
    "ConcatOperands": (
        "(float[n, 3] x, float[m, 3] y) => (float[?, ?] z) { z = Concat<axis = 1>(x, y) }",
        {"operators": "Concat"},
    ),
    "CheckedElements": (
        "(float[n, 3] x) => (float[?, ?] z) { z = Abs(x) }",
        {"operators": [], "contract": Contract((ValueContract("x", (0, 1)),))},
    ),
}
"""By kernel a model that is enforced with it, and how."""


def results_of(kernel: str, size: int | str) -> tuple[Facts, list[ir.Value]]:
    """What is known of an enforced model, and the results of its kernel."""
    text, choices = KERNELS[kernel]
    proto = parse(text.replace("[n, 3]", f"[{size}, 3]"))
    enforced = sonnx_ort.rewrite(proto, backend="python", **choices)
    model = load_canonical(enforced).graph_model
    (node,) = (node for node in model.graph if node.domain == DOMAIN)
    assert node.op_type == kernel
    return Facts(model), [*node.outputs]


@pytest.mark.parametrize(
    ("kernel", "first", "last"),
    [
        ("CheckedDiv", ("n", 3), (2,)),
        ("CheckedMax", ("n", 3), (2,)),
        ("ConcatOperands", ("n", 3), (2,)),
        ("ArgMaxOperands", (2,), (1,)),
        ("SliceOperands", (2,), (1,)),
        ("CheckedElements", (2,), (1,)),
    ],
)
def test_first_result_is_the_first_operand_or_its_shape_and_the_last_one_is_the_shape_of_that(
    kernel: str, first: tuple[int | str, ...], last: tuple[int, ...]
) -> None:
    facts, results = results_of(kernel, "n")
    assert [facts.shape(result) for result in results] == [first, last]


@pytest.mark.parametrize(
    ("kernel", "first", "last"),
    [
        ("CheckedDiv", None, [2, 3]),
        ("CheckedMax", None, [2, 3]),
        ("ConcatOperands", None, [2, 3]),
        ("ArgMaxOperands", [2, 3], [2]),
        ("SliceOperands", [2, 3], [2]),
        ("CheckedElements", [2, 3], [2]),
    ],
)
def test_elements_of_a_shape_are_its_sizes(
    kernel: str, first: list[int] | None, last: list[int]
) -> None:
    facts, results = results_of(kernel, 2)
    found = [facts.known_elements(result) for result in results]
    assert [None if each is None else each.tolist() for each in found] == [first, last]


@pytest.mark.parametrize("kernel", KERNELS)
def test_first_result_has_the_type_of_the_operand_or_that_of_shapes(kernel: str) -> None:
    facts, (first, last) = results_of(kernel, "n")
    own = kernel in {"CheckedDiv", "CheckedMax"}
    assert facts.element_type(first) == ("float" if own else "int64")
    assert facts.element_type(last) == "int64"


GIVEN = "float[2, 3] x, float[10] e, int64[3] open_sizes, int64[2] open_ranks"
CONSTANTS = "int64[3] sizes = {2, 3, 4}, int64[2] ranks = {2, 1}"


@pytest.mark.parametrize(
    ("node", "shape", "elements", "kind"),
    [
        ("r, s = sonnx.CheckedMax(e, sizes, ranks)", (2, 3), [2, 3], "float"),
        ("r, s = sonnx.CheckedMax(e, open_sizes, ranks)", None, None, "float"),
        ("r, s = sonnx.CheckedMax(e, sizes, open_ranks)", None, None, "float"),
        ("r, s = sonnx.CheckedSub(x, e)", (2, 3), [2, 3], "float"),
        ("r, s, t = sonnx.CheckedSub(x, e)", (2, 3), None, None),
        ("r, s = sonnx.Other(x)", None, None, None),
    ],
)
def test_node_that_someone_else_made_is_known_as_far_as_its_kernel_is(
    node: str,
    shape: tuple[int, ...] | None,
    elements: list[int] | None,
    kind: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing is logged: its rules can read it."""
    text = f"({GIVEN}) => (float[?, ?] r) <{CONSTANTS}> {{ {node} }}"
    model = load_canonical(parse(text, domains={DOMAIN: 1})).graph_model
    facts, (first, last, *_) = Facts(model), [*model.graph.node(-1).outputs]
    found = facts.known_elements(last)
    assert facts.shape(first) == shape
    assert (None if found is None else found.tolist()) == elements
    assert facts.element_type(first) == kind
    assert caplog.messages == []
