"""Nodes in the bodies of If, Loop and Scan, and what the native backend puts there."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import onnx
from onnx import TensorProto, helper

import sonnx_ort
from support.proofs.nodes import Guarded

_AROUND = "around the node"
"""The name of what bears the body, and of what stands in it besides the node."""

_Values = Sequence[onnx.ValueInfoProto]
_Bearer = tuple[onnx.NodeProto, _Values]
"""A node with a body, and the inputs that it has of its own."""


class Place(enum.StrEnum):
    """Where a node stands."""

    BRANCH = "a branch of an If"
    LOOP = "the body of a Loop"
    STATES = "the body of a Loop that hands the operands on"
    SCAN = "the body of a Scan"


def inside(model: onnx.ModelProto, place: Place) -> onnx.ModelProto:
    """Put the one node of a model into a body, where it reads what were the inputs of the model.

    Args:
        model: The model.
        place: The body.
    """
    moved = onnx.ModelProto()
    moved.CopyFrom(model)
    graph = moved.graph
    bearer, inputs = _BEARERS[place](graph)
    del graph.node[:]
    graph.node.append(bearer)
    graph.input.extend(inputs)
    for output in graph.output:
        output.name = _last(output.name)
    return moved


def as_one_graph(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model whose body stands in the place of the node that bears it, as if it ran once.

    What a body reads of the main graph is the same there, so that this is what runs where the
    branch is taken, and in each iteration.

    Args:
        model: What was emitted for a model with a node inside.
    """
    flat = onnx.ModelProto()
    flat.CopyFrom(model)
    (bearer,) = (node for node in model.graph.node if node.name == _AROUND)
    body = next(a.g for a in bearer.attribute if a.name in {"then_branch", "body"})
    del flat.graph.node[:], flat.graph.output[:]
    for node in model.graph.node:
        of_it = [n for n in body.node if n.name != _AROUND] if node == bearer else [node]
        flat.graph.node.extend(of_it)
    made = {name for node in flat.graph.node for name in node.output}
    flat.graph.output.extend(output for output in body.output if output.name in made)
    read = {name for node in flat.graph.node for name in node.input}
    inputs = [each for each in (*model.graph.input, *body.input) if each.name in read]
    del flat.graph.input[:]
    flat.graph.input.extend(inputs)
    return flat


@dataclass(frozen=True)
class InBranch(Guarded):
    """A node in a branch of an If, of which nothing is asked but what happens if it is taken."""

    def whole(self, rank: int | None) -> onnx.ModelProto:
        """What the native backend makes of the model with the If.

        Args:
            rank: The rank of the operands; None where it is unknown.
        """
        made = inside(self.original(rank), Place.BRANCH)
        return sonnx_ort.rewrite(made, backend="native", operators="all", edition=self.edition)

    def emitted_of_rank(self, rank: int | None) -> onnx.ModelProto:
        """What runs where the branch is taken.

        Args:
            rank: The rank of the operands; None where it is unknown.
        """
        return as_one_graph(self.whole(rank))


def _in_branch(graph: onnx.GraphProto) -> _Bearer:
    otherwise = _renamed(graph.output, "otherwise")
    kept = _renamed(graph.output, "kept")
    node = helper.make_node(
        "If",
        ["taken"],
        _given(graph),
        then_branch=helper.make_graph(graph.node, "then", [], graph.output),
        else_branch=helper.make_graph(_identities(otherwise, kept), "else", [], kept),
        name=_AROUND,
    )
    return node, [_single("taken", TensorProto.BOOL), *otherwise]


def _in_loop(graph: onnx.GraphProto) -> _Bearer:
    return _loop(graph, _renamed(graph.output, "before"), _renamed(graph.output, "first"), [])


def _on_states(graph: onnx.GraphProto) -> _Bearer:
    """The operands are states, which each iteration hands on as they are."""
    operands = _renamed(graph.input, "")
    states = [*operands, *_renamed(graph.output, "before")]
    first = [*_renamed(graph.input, "first"), *_renamed(graph.output, "first")]
    del graph.input[:]
    return _loop(graph, states, first, operands)


def _loop(graph: onnx.GraphProto, states: _Values, first: _Values, handed_on: _Values) -> _Bearer:
    iteration, going = _single("iteration", TensorProto.INT64), _single("going", TensorProto.BOOL)
    still = _single("still", TensorProto.BOOL)
    following = _renamed(handed_on, "next")
    around = _identities([going, *handed_on], [still, *following])
    body = helper.make_graph(
        [*around, *graph.node],
        "step",
        [iteration, going, *states],
        [still, *following, *graph.output],
    )
    outer = [_single("trips", TensorProto.INT64), _single("go_on", TensorProto.BOOL), *first]
    names = [each.name for each in outer]
    given = [*(_last(each.name) for each in handed_on), *_given(graph)]
    return helper.make_node("Loop", names, given, body=body, name=_AROUND), outer


def _in_scan(graph: onnx.GraphProto) -> _Bearer:
    first, before = _renamed(graph.output, "first"), _renamed(graph.output, "before")
    element = _single("element", TensorProto.FLOAT)
    elements = helper.make_tensor_value_info("elements", TensorProto.FLOAT, [None])
    body = helper.make_graph(graph.node, "step", [*before, element], graph.output)
    outer = [*first, elements]
    names = [each.name for each in outer]
    given = _given(graph)
    node = helper.make_node("Scan", names, given, body=body, num_scan_inputs=1, name=_AROUND)
    return node, outer


_BEARERS: Mapping[Place, Callable[[onnx.GraphProto], _Bearer]] = {
    Place.BRANCH: _in_branch,
    Place.LOOP: _in_loop,
    Place.STATES: _on_states,
    Place.SCAN: _in_scan,
}


def _last(name: str) -> str:
    return f"{name}_last"


def _given(graph: onnx.GraphProto) -> list[str]:
    return [_last(output.name) for output in graph.output]


def _identities(values: _Values, results: _Values) -> list[onnx.NodeProto]:
    return [
        helper.make_node("Identity", [value.name], [result.name], name=_AROUND)
        for value, result in zip(values, results, strict=True)
    ]


def _renamed(values: _Values, what: str) -> list[onnx.ValueInfoProto]:
    renamed = []
    for value in values:
        other = onnx.ValueInfoProto()
        other.CopyFrom(value)
        other.name = f"{value.name}_{what}" if what else value.name
        renamed.append(other)
    return renamed


def _single(name: str, element_type: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type, [])
