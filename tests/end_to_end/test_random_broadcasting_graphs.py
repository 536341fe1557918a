"""Random graphs of Div and Sub, made explicit: numpy's numbers, and the oracle's verdict."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

import sonnx_ort
from sonnx_ort.oracle import Violation, broadcast
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Status
from support.backends import on_each_backend
from support.broadcasting import outcome, shapes_of_tensors
from support.graphs import Dimensions, model, tensor
from support.oracle import outcome_of
from support.values import assert_same_bits

pytestmark = on_each_backend

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class RandomGraph:
    """A graph of Div and Sub nodes, each of which reads inputs or earlier results.

    Attributes:
        element_type: The type of all tensors.
        declared: The declared shape of each input.
        feeds: The inputs by name.
        nodes: The operator and the names of the operands of each node, whose result `r0`, `r1`
            and so on is a graph output.
    """

    element_type: ElementType
    declared: dict[str, Dimensions]
    feeds: dict[str, Array]
    nodes: list[tuple[str, str, str]]

    def model(self) -> onnx.ModelProto:
        """The graph as a model; its nodes bear the names of their results."""
        return model(
            [
                helper.make_node(operator, [a, b], [f"r{i}"], name=f"r{i}")
                for i, (operator, a, b) in enumerate(self.nodes)
            ],
            [tensor(name, self.element_type, shape) for name, shape in self.declared.items()],
            [tensor(f"r{i}", self.element_type, None) for i in range(len(self.nodes))],
        )


@st.composite
def declarations(draw: st.DrawFn, shape: tuple[int, ...]) -> Dimensions:
    """What a model may declare for a tensor of a shape; a symbol always stands for one size."""
    if draw(st.integers(0, 9)) == 0:
        return None
    forms = st.sampled_from(["size", "size", "symbol", "another symbol", "unknown"])
    declared: list[int | str | None] = []
    for size in shape:
        match draw(forms):
            case "size":
                declared.append(size)
            case "unknown":
                declared.append(None)
            case form:
                declared.append(f"{form[0]}{size}")
    return declared


@st.composite
def random_graphs(draw: st.DrawFn) -> RandomGraph:
    """Draw a graph with its feeds."""
    element_type = draw(st.sampled_from([ElementType.FLOAT, ElementType.INT32]))
    names = [f"x{i}" for i in range(draw(st.integers(2, 4)))]
    shapes = draw(shapes_of_tensors(len(names)))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lowest = draw(st.sampled_from([-3, 1]))
    feeds = {
        name: generator.integers(lowest, 9, shape).astype(element_type.dtype)
        for name, shape in zip(names, shapes, strict=True)
    }
    declared = {name: draw(declarations(array.shape)) for name, array in feeds.items()}
    nodes = []
    for i in range(draw(st.integers(1, 4))):
        operand = st.sampled_from([*names, *(f"r{j}" for j in range(i))])
        nodes.append((draw(st.sampled_from(["Div", "Sub"])), draw(operand), draw(operand)))
    return RandomGraph(element_type, declared, feeds, nodes)


def oracle(graph: RandomGraph, edition: Edition) -> tuple[dict[str, Array], dict[str, str]]:
    """Every value that can be computed, and the rules that nodes break, by the nodes' names."""
    values, broken = dict(graph.feeds), {}
    for i, (operator, a, b) in enumerate(graph.nodes):
        if a not in values or b not in values:
            continue
        spread = broadcast(values[a], values[b])
        result = (
            spread
            if isinstance(spread, Violation)
            else outcome_of(operator, *spread, graph.element_type, edition)
        )
        if isinstance(result, Violation):
            broken[f"r{i}"] = result.rule
        else:
            values[f"r{i}"] = result
    return values, broken


def assert_not_proved(found: sonnx_ort.ContractViolation, graph: RandomGraph) -> None:
    """A rule that a run broke is no rule that holds in every run."""
    report = sonnx_ort.check(graph.model(), broadcast="explicit")
    statuses = {
        o.status for o in report.obligations if (o.rule.id, o.node) == (found.rule, found.node)
    }
    assert statuses == {Status.RUNTIME}


def by_numpy(graph: RandomGraph) -> dict[str, Array]:
    values = dict(graph.feeds)
    with np.errstate(all="ignore"):
        for i, (operator, a, b) in enumerate(graph.nodes):
            function = np.divide if operator == "Div" else np.subtract
            values[f"r{i}"] = np.asarray(function(values[a], values[b]))
    return values


@given(graph=random_graphs())
def test_inputs_that_disagree_on_a_symbol_give_the_oracles_numbers_or_a_violation(
    graph: RandomGraph,
) -> None:
    for name, shape in graph.declared.items():
        if shape is not None:
            graph.declared[name] = ["n" if isinstance(size, str) else size for size in shape]
    values, broken = oracle(graph, Edition.TYPED)
    try:
        found = outcome(graph.model(), graph.feeds, broadcast="explicit")
    except sonnx_ort.ModelRejected:
        assert broken, "a model that keeps its rules is rejected"
        return
    if isinstance(found, sonnx_ort.ContractViolation):
        assert_not_proved(found, graph)
        return
    assert not broken, "a broken rule goes unnoticed"
    for i, result in enumerate(found):
        assert_same_bits(result, values[f"r{i}"])


@given(graph=random_graphs(), edition=st.sampled_from(Edition))
def test_verdict_is_the_oracles_and_numbers_are_numpys(
    graph: RandomGraph, edition: Edition
) -> None:
    values, broken = oracle(graph, edition)
    try:
        found = outcome(graph.model(), graph.feeds, edition=edition, broadcast="explicit")
    except sonnx_ort.ModelRejected:
        assert broken, "a model that keeps its rules is rejected"
        return
    if isinstance(found, sonnx_ort.ContractViolation):
        assert broken
        # ONNX Runtime may know the shape of what a broken node would give, and refuse a node behind
        # it first.
        assert found.rule == (broken.get(found.node) or "Broadcast.E1")
        if edition is Edition.TYPED:
            assert_not_proved(found, graph)
        return
    assert not broken, "a broken rule goes unnoticed"
    for i, result in enumerate(found):
        assert_same_bits(result, values[f"r{i}"])
    if graph.element_type is ElementType.FLOAT and edition is Edition.TYPED:
        expected = by_numpy(graph)
        for i, result in enumerate(found):
            np.testing.assert_array_equal(result, expected[f"r{i}"], strict=True)
