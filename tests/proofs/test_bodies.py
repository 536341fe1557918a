"""Guards in the bodies of If, Loop and Scan are those of the main graph, or are proved themselves.

A body reads the operands from around it. Where its nodes are those that the same node gets in the
main graph, what is proved of them there holds of them here: a body runs them as they are.
"""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.elementwise import Single, singles
from support.operator_cases import OPERATOR_CASES
from support.proofs.alignments import LinedUp
from support.proofs.broadcasts import Broadcasting
from support.proofs.guards import outcome, passes, up_to_names
from support.proofs.mutation import Mutation, faults_of_elements, number, swapped
from support.proofs.nodes import NAME, Guarded, Ranks
from support.proofs.single_operands import RANKS, SingleOperands, windowed
from support.proofs.theorem import prove, refute

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
    """Put the one node of a model into a body, where it reads what were the inputs of the model."""
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
        return sonnx_ort.rewrite(
            made, backend="native", operators="all,-Graph", edition=self.edition
        )

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


def _loop(
    graph: onnx.GraphProto, states: _Values, first: _Values, passed_operand: _Values
) -> _Bearer:
    iteration, going = _single("iteration", TensorProto.INT64), _single("going", TensorProto.BOOL)
    still = _single("still", TensorProto.BOOL)
    following = _renamed(passed_operand, "next")
    around = _identities([going, *passed_operand], [still, *following])
    body = helper.make_graph(
        [*around, *graph.node],
        "step",
        [iteration, going, *states],
        [still, *following, *graph.output],
    )
    outer = [_single("trips", TensorProto.INT64), _single("go_on", TensorProto.BOOL), *first]
    names = [each.name for each in outer]
    given = [*(_last(each.name) for each in passed_operand), *_given(graph)]
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


T = ElementType
Form = Guarded | SingleOperands | Broadcasting | LinedUp
SIGNED = [kind for kind in ElementType if kind.dtype.kind == "i"]
SOMETIMES = (T.FLOAT, T.INT64, T.BOOL)
"""The types that do not wait for the thorough tests."""

SINCE = {"Div": 7, "Mod": 10}
WITHOUT_IF = {"Div": SIGNED, "Mod": [T.INT32, T.INT64]}
"""Of these types one look settles the rules elsewhere; in a branch none does."""


def forms() -> Iterator[Form]:
    """Every operator in every type, and every form that its guards have."""
    for single in singles():
        yield from (Guarded(single, ranks, single.opset) for ranks in Ranks)
    for name in ("MatMul", "BatchNormalization", "Clip", "Slice", "ArgMax"):
        attributes = {"axis": 1} if name == "ArgMax" else {}
        for kind in OPERATOR_CASES[name].kernels:
            yield SingleOperands(name, kind, attributes=attributes)
    yield from (windowed(name, OPERATOR_CASES[name].kernels[-1]) for name in RANKS)
    yield SingleOperands("Softmax", T.FLOAT, attributes={"axis": 1})
    yield SingleOperands("QuantizeLinear", T.FLOAT)
    yield SingleOperands("DequantizeLinear", T.INT32)
    yield SingleOperands("Concat", T.FLOAT, ("X0", "X1"), attributes={"axis": 1})
    yield SingleOperands("Reshape", T.FLOAT, attributes={"allowzero": 0}, vectors={"S": None})
    yield SingleOperands("Squeeze", T.FLOAT, vectors={"A": 2})
    yield from (SingleOperands(name, T.INT64) for name in ("Unsqueeze", "Range"))
    pairs = ("float[] A, float[] B", "float[?,?] A, float[?] B", "float[?] A, float[1] B")
    for inputs in (*pairs, "float[2,3] A, float[?] B", "float A, float[?] B"):
        yield Broadcasting(inputs, "Div(A, B)")
        yield Broadcasting(inputs, "sonnx.Broadcast(A, B)")
    yield Broadcasting("bool[] A, float[] B, float[] C", "Where(A, B, C)")
    for inputs in pairs[:2]:
        yield from (LinedUp(inputs, axis) for axis in (None, 1, -2))


def places(form: Form) -> list[Place]:
    """The bodies in which a node can stand that knows the same of its operands there.

    A state that is declared as a scalar is one: it is no input, for which any tensor is taken.
    """
    scalars = isinstance(form, Guarded) and form.ranks is Ranks.SCALARS
    scalars |= isinstance(form, Broadcasting) and "float A" in form.inputs
    without = {Place.STATES} if scalars else set()
    if isinstance(form, LinedUp):
        without.add(Place.SCAN)  # Version 6 has none.
    return [place for place in Place if place not in without]


def differs(form: Form, place: Place) -> bool:
    """Whether a body gets other nodes than the main graph."""
    if place is not Place.BRANCH or not isinstance(form, Guarded):
        return False
    return form.single.element_type in WITHOUT_IF.get(form.single.operator.name, ())


def is_quick(form: Form) -> bool:
    match form:
        case Guarded():
            return form.single.element_type in SOMETIMES
        case SingleOperands():
            return form.element_type in SOMETIMES
        case _:
            return True


def emitted(original: onnx.ModelProto, form: Form) -> onnx.ModelProto:
    """What the native backend makes of a model."""
    choice = "reject" if isinstance(form, Guarded | SingleOperands) else "explicit"
    return sonnx_ort.rewrite(original, backend="native", operators="all,-Graph", broadcast=choice)


def compared(model: onnx.ModelProto) -> list[object]:
    """The nodes of a model, up to names; there are some."""
    assert model.graph.node
    given = (*model.graph.input, *model.graph.initializer)
    return up_to_names(model.graph.node, {each.name: each.name for each in given})


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(form, id=str(form), marks=() if is_quick(form) else pytest.mark.thorough)
        for form in forms()
    ],
)
def test_body_gets_the_nodes_of_the_main_graph(form: Form) -> None:
    original = form.original(form.declared_rank) if isinstance(form, Guarded) else form.original
    expected = compared(emitted(original, form))
    for place in places(form):
        found = as_one_graph(emitted(inside(original, place), form))
        same = compared(found) == expected
        assert same is not differs(form, place), place


@pytest.mark.parametrize("place", Place)
@pytest.mark.parametrize("fault", [number("code", 0), swapped("shape_or_code")], ids=str)
def test_fault_in_a_body_is_seen(fault: Mutation, place: Place) -> None:
    form = Guarded(Single(OPERATORS["Div"], T.FLOAT), Ranks.ANY)
    broken = fault.of(emitted(inside(form.original(None), place), form))
    assert compared(as_one_graph(broken)) != compared(form.emitted)


def test_every_operator_is_looked_at() -> None:
    tried = {f.single.operator.name for f in forms() if isinstance(f, Guarded)}
    tried |= {f.name for f in forms() if isinstance(f, SingleOperands)}
    guarded = {name for name, o in OPERATORS.items() if any(r.in_run for r in o.all_rules())}
    assert guarded - tried == {"Broadcast"}


def in_branches() -> Iterator[InBranch]:
    """The nodes that a branch gets other guards for than the main graph."""
    for name, kinds in WITHOUT_IF.items():
        for kind in kinds:
            single = Single(OPERATORS[name], kind)
            yield from (InBranch(single, ranks) for ranks in Ranks)
            if kind.dtype.itemsize >= 4:
                older = (opset for opset in (9, 12) if opset >= SINCE[name])
                yield from (InBranch(single, Ranks.ANY, opset) for opset in older)
    for kind in SIGNED:
        yield InBranch(Single(OPERATORS["Div"], kind), Ranks.ANY, edition=Edition.PRELIMINARY)


def faults(form: InBranch) -> list[Mutation]:
    """The faults of the main graph, but for that of the look which settles."""
    return [f for f in faults_of_elements(form) if f.value != "too_small"]


BRANCHES = [
    pytest.param(form, id=str(form), marks=() if is_quick(form) else pytest.mark.thorough)
    for form in in_branches()
]
TWINS = [
    pytest.param(
        form, fault, id=f"{form} | {fault}", marks=() if is_quick(form) else pytest.mark.thorough
    )
    for form in in_branches()
    if form.ranks is Ranks.ANY
    for fault in faults(form)
]


@pytest.mark.parametrize("form", BRANCHES)
def test_branch_that_is_taken_passes_exactly_what_keeps_the_rules(form: InBranch) -> None:
    prove(form.question())


@pytest.mark.parametrize(("form", "fault"), TWINS)
def test_fault_is_refuted_by_operands_that_show_it(form: InBranch, fault: Mutation) -> None:
    broken = fault.of(form.emitted)
    _, feeds = refute(form.few_elements(broken))
    keeps = form.keeps_rules(feeds)
    assert passes(broken, {NAME}, feeds) is not keeps
    assert passes(form.emitted, {NAME}, feeds) is keeps
    whole = form.whole(form.declared_rank)
    for taken in (True, False):
        given = feeds | {"taken": np.array(taken), "y_otherwise": feeds["A"]}
        assert (outcome(whole, given) is not None) is (keeps or not taken)
