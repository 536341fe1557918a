"""What breaks the rules on graphs, and what a file declares of values."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import onnx_ir as ir

from sonnx_ort.analysis.obligation import Finding, Identity, Obligation
from sonnx_ort.analysis.ruled_nodes import nodes_with_paths
from sonnx_ort.analysis.schema_parameters import (
    Assumption,
    assumptions,
    convertible_inputs,
    optional_inputs,
    optional_outputs,
    undefined_outputs,
)
from sonnx_ort.analysis.values.declarations import (
    constant_tensor,
    declared_shape,
    declared_type,
    sizes_of,
)
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.loading.declarations import declared_elsewhere
from sonnx_ort.loading.traversal import GraphIndex, label_of
from sonnx_ort.loading.written import where_written
from sonnx_ort.profile.catalog import OperatorStanding, standing_of, unsupported_attributes
from sonnx_ort.profile.graph import (
    CONSTANT_TYPES,
    DEAD_NODE,
    DETERMINISTIC,
    EDGES,
    FALSE_CLAIM,
    GR2,
    GR3,
    GR4,
    GRAPH_RULES,
    IMPLICIT_SHAPE,
    INFERENCE,
    OPERATORS_OF_THE_SET,
    SONNX_TYPES,
    TYPES,
    UNREAD,
    UNUSED_INPUT,
    OfGraph,
)
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN
from sonnx_ort.profile.rule import Rule, Status
from sonnx_ort.terms.operand import Shape, contradict, format_shape

_RANDOM = frozenset(
    {
        *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"),
        "RandomUniformLike",
    }
)
"""The operators of ONNX that draw random numbers, beside Dropout in training mode."""

_OF_ONNX = frozenset({STANDARD_DOMAIN, "ai.onnx.ml", "ai.onnx.preview.training"})
"""The domains of ONNX, of whose operators it is known what they do."""

_WITHOUT_ANY = frozenset({"Sigmoid", "Tanh", "Relu", "Softsign", "Softplus"})

_WITHOUT_PARAMETER = {
    "activation_alpha": _WITHOUT_ANY,
    "activation_beta": _WITHOUT_ANY | {"LeakyRelu", "ThresholdedRelu", "Elu"},
}
"""The functions of a recurrent layer for which ONNX defines no such parameter, by attribute.

Those of a layer without the attribute activations are among them.
"""

_TRAINING_INPUT = 2
"""The input of a Dropout that says whether it trains."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A node with its version, the nodes whose subgraphs contain it, and what wrote the model."""

    node: ir.Node
    version: int
    path: tuple[str, ...]
    producer: str | None

    def finding(self, rule: Rule, detail: str, remedy: str = "") -> Finding:
        """The node as a place where the graph does not keep a rule."""
        place = self.node.op_type, label_of(self.node)
        written = where_written(self.node, self.producer)
        return Finding(rule, *place, detail, self.path, remedy, written)


def find_declarations(model: ir.Model, index: GraphIndex, facts: Facts) -> tuple[Finding, ...]:
    """Find where a canonical model leaves implicit, or declares wrongly, what it should say."""
    return tuple(_declarations(model, _placed_nodes(model, index), index.values, facts))


def _declarations(
    model: ir.Model, nodes: Sequence[_Placed], values: Sequence[ir.Value], facts: Facts
) -> Iterator[Finding]:
    dead = set(dead_nodes([placed.node for placed in nodes]))
    return chain(
        _wrong_declarations(values, facts),
        _unused_inputs(model),
        _dead_nodes(nodes, dead),
        chain.from_iterable(map(_without_edge, nodes)),
        _unread_values(values, dead),
        chain.from_iterable(map(_omitted_defaults, nodes)),
        chain.from_iterable(_conversions(node, facts) for node in nodes),
        _missing_declarations(values, facts),
    )


def graph_obligations(
    model: ir.Model,
    index: GraphIndex,
    facts: Facts,
    identity: Identity,
    unproved: Mapping[ir.Value, Shape],
) -> tuple[Obligation, ...]:
    """Decide all rules on graphs for a canonical model.

    Args:
        model: The model.
        index: What it has.
        facts: What is known of its values.
        identity: What the file says of itself.
        unproved: The declared shapes that say more than is certain.

    Returns:
        One obligation for each place that violates a rule, and one for each rule that is kept.
    """
    nodes = _placed_nodes(model, index)
    found = [
        *chain.from_iterable(map(_unsuitable, nodes)),
        *chain.from_iterable(_other_types(node, facts) for node in nodes),
        *_of_file(identity),
        *_declarations(model, nodes, index.values, facts),
    ]
    undecided = {FALSE_CLAIM: _unproved_declarations(unproved, facts)}
    decided = (_decided(rule, found, undecided.get(rule, "")) for rule in GRAPH_RULES)
    return tuple(chain.from_iterable(decided))


def _decided(rule: Rule, found: Sequence[Finding], undecided: str) -> Sequence[Obligation]:
    """The obligations of a rule: its breaches, and what else is known if there is none.

    Args:
        rule: The rule.
        found: The breaches of all rules.
        undecided: Which declarations are not proved, as a clause; empty if each is.
    """
    violated = [finding.obligation() for finding in found if finding.rule is rule]
    requirement = rule.requirement
    if violated or not isinstance(requirement, OfGraph):
        return violated
    if undecided:
        status = Status.RUNTIME
        return [Obligation(rule, "", "", (), status, undecided, rests_on_declaration=True)]
    return [Obligation(rule, "", "", (), Status.PROVED, requirement.kept)]


def _placed_nodes(model: ir.Model, index: GraphIndex) -> list[_Placed]:
    versions = model.opset_imports
    return [
        _Placed(node, versions.get(node.domain, 1), path, model.producer_name)
        for node, path in nodes_with_paths(index)
    ]


def _unsuitable(placed: _Placed) -> Iterator[Finding]:
    """What speaks against the operator of a node."""
    node = placed.node
    standing = standing_of(node.domain, node.op_type)
    if standing is OperatorStanding.OUTSIDE and node.domain != DOMAIN:
        name = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        yield placed.finding(
            OPERATORS_OF_THE_SET, f"{name} is not in the operator set, and no draft covers it"
        )
        if node.domain not in _OF_ONNX:
            yield placed.finding(DETERMINISTIC, f"whether {name} is deterministic is not known")
            yield placed.finding(INFERENCE, f"whether {name} trains is not known")
    trains = _trains(node)
    if (node.domain == STANDARD_DOMAIN and node.op_type in _RANDOM) or (
        trains and node.op_type == "Dropout"
    ):
        yield placed.finding(DETERMINISTIC, f"{node.op_type} draws random numbers")
    if trains or node.domain == "ai.onnx.preview.training" or _is_standard(node, "Dropout"):
        yield placed.finding(
            INFERENCE, "it is in training mode" if trains else "it is an operator for training"
        )


def _other_types(placed: _Placed, facts: Facts) -> Iterator[Finding]:
    """The types that SONNX does not allow, of a node whose operator has no list of its own."""
    node = placed.node
    if standing_of(node.domain, node.op_type) is OperatorStanding.GENERAL:
        values = (*node.inputs, *node.outputs)
    elif _is_standard(node, "Cast") or _is_standard(node, "Constant"):
        values = tuple(node.outputs)
    else:
        return
    constant = _is_standard(node, "Constant")
    allowed = CONSTANT_TYPES if constant else SONNX_TYPES
    reason = "which its draft does not list" if constant else "which SONNX does not allow"
    for value in dict.fromkeys(filter(None, values)):
        kind = facts.element_type(value)
        if kind is None and value.name:
            yield placed.finding(TYPES, f"the type of '{value.name}' is not known")
        elif kind is not None and kind not in allowed:
            yield placed.finding(TYPES, f"'{value.name}' is of type {kind}, {reason}")


def _is_standard(node: ir.Node, name: str) -> bool:
    return (node.domain, node.op_type) == (STANDARD_DOMAIN, name)


def _trains(node: ir.Node) -> bool:
    """Whether a node is not known to be in the mode of inference."""
    if _is_standard(node, "BatchNormalization"):
        return node.attributes.get_int("training_mode", 0) != 0
    if not _is_standard(node, "Dropout"):
        return False
    if len(node.inputs) <= _TRAINING_INPUT or (mode := node.inputs[_TRAINING_INPUT]) is None:
        return False
    tensor = constant_tensor(mode)
    return tensor is None or bool(tensor.numpy().any())


def _of_file(identity: Identity) -> Iterator[Finding]:
    if identity.has_training_info:
        yield Finding(INFERENCE, "model", "training_info", "the file has training information")


def _missing_declarations(values: Sequence[ir.Value], facts: Facts) -> Iterator[Finding]:
    for value in values:
        if not value.name or value.is_initializer():
            continue
        if value.type is None:
            yield Finding(GR2, "value", value.name, "the file gives no type")
        if value.shape is None and facts.may_be_tensor(value):
            yield Finding(IMPLICIT_SHAPE, "value", value.name, "the file gives no shape")


def _conversions(placed: _Placed, facts: Facts) -> Iterator[Finding]:
    """Operands of two types at an operator that also supports one common type."""
    node = placed.node
    pairs = convertible_inputs(node.op_type, placed.version, node.domain)
    if not pairs:
        return
    types = {i: facts.element_type(v) for i, v in enumerate(node.inputs) if v is not None}
    for one, other in pairs:
        if one.position not in types or other.position not in types:
            continue
        first, second = types[one.position], types[other.position]
        if first is None or second is None:
            unknown = one if first is None else other
            yield placed.finding(GR3, f"the type of {unknown.name} is not known")
            return
        if first != second:
            detail = f"{one.name} is {first} and {other.name} is {second}; one is converted"
            yield placed.finding(GR3, detail)
            return


def _omitted_defaults(placed: _Placed) -> Iterator[Finding]:
    node = placed.node
    unsupported = unsupported_attributes(node.domain, node.op_type)
    for assumption in assumptions(node.op_type, placed.version, node.domain):
        if assumption.name not in unsupported and _is_omitted(node, assumption):
            detail = f"'{assumption.name}' is left out; {assumption.assumed}"
            yield placed.finding(GR4, detail)


def _is_omitted(node: ir.Node, assumption: Assumption) -> bool:
    name, position = assumption.name, assumption.position
    if position is not None:
        return position >= len(node.inputs) or node.inputs[position] is None
    if name == "pads" and node.attributes.get_string("auto_pad", "NOTSET") != "NOTSET":
        # auto_pad computes the pads, so they must be omitted.
        return False
    return name not in node.attributes and not _has_no_meaning(node, name)


def _has_no_meaning(node: ir.Node, name: str) -> bool:
    """Whether it holds parameters of functions of a layer, of which none has such a parameter."""
    without = _WITHOUT_PARAMETER.get(name)
    functions = node.attributes.get_strings("activations") or ()
    return without is not None and without.issuperset(functions)


def _dead_nodes(nodes: Sequence[_Placed], dead: Container[ir.Node]) -> Iterator[Finding]:
    for placed in nodes:
        if placed.node in dead:
            yield placed.finding(
                DEAD_NODE, "none of its outputs contributes to an output of the graph"
            )


_TO_GIVE = {
    "input": "give the input, such as a bias of zeros",
    "output": Advice(
        "conform with ", Remedy("name_outputs"), ", which makes it an output of the model"
    ),
}
_TO_GIVE_IN_A_BODY = {
    **_TO_GIVE,
    "output": "name the output, and read it or make it an output of the subgraph",
}
_TO_LEAVE_OUT = "leave the output out, and compute from the others what is read of it"


def _without_edge(placed: _Placed) -> Iterator[Finding]:
    """The inputs and outputs of the operator that a node omits, and outputs of no draft."""
    to_give = _TO_GIVE_IN_A_BODY if placed.path else _TO_GIVE
    node, operator = placed.node, (placed.node.op_type, placed.version, placed.node.domain)
    for kind, optional, values in (
        ("input", optional_inputs(*operator), node.inputs),
        ("output", optional_outputs(*operator), node.outputs),
    ):
        for parameter in optional:
            given = values[parameter.position] if parameter.position < len(values) else None
            if (given is None or not given.name) and not _excluded(node, parameter.name):
                detail = f"the {kind} '{parameter.name}' is left out"
                yield placed.finding(EDGES, detail, to_give[kind])
    for parameter in undefined_outputs(*operator):
        if parameter.position < len(node.outputs) and node.outputs[parameter.position].name:
            detail = f"the output '{parameter.name}' is given, and the draft does not define it"
            yield placed.finding(EDGES, detail, _TO_LEAVE_OUT)


def _excluded(node: ir.Node, name: str) -> bool:
    """Whether ONNX forbids an input because another one is given: scales or sizes of Resize."""
    if not _is_standard(node, "Resize") or name not in ("scales", "sizes"):
        return False
    return any(value is not None and bool(value.name) for value in node.inputs[2:])


def _unread_values(
    values: Sequence[ir.Value], dead: Container[ir.Node | None]
) -> Iterator[Finding]:
    for value in values:
        if not value.name or value.is_graph_input() or value.is_graph_output() or value.uses():
            continue
        if value.producer() in dead:
            continue
        kind = "initializer" if value.is_initializer() else "value"
        detail = "nothing reads it, and it is no output of the graph"
        yield Finding(UNREAD, kind, value.name, detail)


def _unused_inputs(model: ir.Model) -> Iterator[Finding]:
    for value in model.graph.inputs:
        if not value.uses() and not value.is_graph_output():
            yield Finding(UNUSED_INPUT, "input", str(value.name), "nothing reads it")


def _unproved_declarations(unproved: Mapping[ir.Value, Shape], facts: Facts) -> str:
    """Which declared shapes say more than is certain, as a clause; empty if none does.

    A session takes them for true: it computes a Shape of them, and drops an Expand to them.
    """
    if not unproved:
        return ""
    value, stated = next(iter(unproved.items()))
    actual = facts.shape(value)
    if facts.depends_on_scalar_inputs(value):
        reason = "an input that it depends on is declared as a scalar, which may have any shape"
    elif actual is None:
        reason = "its rank is not known"
    else:
        reason = f"what is certain is {format_shape(actual)}"
    others = len(unproved) - 1
    more = f"; the shapes of {others:,} other values are not proved either" if others > 1 else ""
    more = "; the shape of another value is not proved either" if others == 1 else more
    return f"'{value.name}' is declared {format_shape(stated)}, and {reason}{more}"


def _wrong_declarations(values: Sequence[ir.Value], facts: Facts) -> Iterator[Finding]:
    elsewhere = declared_elsewhere(values)
    for value in values:
        shapes = [sizes_of(shape) for shape in elsewhere.get(value, ())]
        if not value.is_graph_input():
            stated = declared_type(value)
            actual = facts.element_type(value)
            if stated is not None and actual is not None and stated != actual:
                said = f"declared {stated}, is {actual}"
                yield Finding(FALSE_CLAIM, "value", str(value.name), said)
            own = declared_shape(value)
            shapes += [] if own is None else [own]
        actual_shape = facts.shape(value)
        for shape in shapes:
            if contradict(shape, actual_shape):
                said = f"declared {format_shape(shape)}, is {format_shape(actual_shape)}"
                yield Finding(FALSE_CLAIM, "value", str(value.name), said)


def dead_nodes(nodes: Sequence[ir.Node], kept: Container[object] = ()) -> list[ir.Node]:
    """Find the nodes that contribute to no output of the graph, in graph order.

    In `nodes`, the nodes of a subgraph follow the node that contains it. What `kept` contains, and
    all that it reads, counts as contributing.
    """
    dead: set[ir.Node] = set()
    for node in reversed(nodes):
        readers = [reader for output in node.outputs for reader in output.consumers()]
        is_output = any(output.is_graph_output() for output in node.outputs)
        if node in kept or is_output:
            continue
        if all(reader in dead for reader in readers):
            dead.add(node)
    return [node for node in nodes if node in dead]
