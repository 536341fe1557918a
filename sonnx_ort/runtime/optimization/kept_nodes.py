"""The nodes of a natively enforced model that no optimizer may take away."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import onnx_ir as ir

from sonnx_ort.custom_ops.failure_channel import GUARDING_OPERATORS, guarded_node
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.domain import STANDARD_DOMAIN

_STAYING = frozenset(operator.name for operator in OPERATORS.values() if operator.stays)
_BRANCH = re.compile(r"^(_if_(then|else)_branch_(token_\d+_)?)+")
_PREFIXES = re.compile(rf"^(InsertedPrecisionFreeCast_|{_BRANCH.pattern[1:]})+")
_SUFFIX = re.compile(r"(_token_\d+)+$")


@dataclass(frozen=True, slots=True, eq=False)
class KeptNode:
    """A guard, or a node that has to stay itself: a standard Div or Sub.

    Attributes:
        node: The node.
        guard: The name that a guard was given; None for a Div or Sub.
    """

    node: ir.Node
    guard: str | None = None

    @property
    def label(self) -> str:
        """How errors speak of it."""
        if self.guard is not None:
            return f"the guard of {guarded_node(self.guard) or self.guard}"
        name = self.node.name or f"(output {self.node.outputs[0].name})"
        return f"{self.node.op_type} '{name}'"

    @property
    def key(self) -> tuple[str, str]:
        """The operator and the name, without what ONNX Runtime puts behind it.

        A node of a branch that took the place of its If counts as unnamed: its name is lost.
        """
        name = (self.node.name if self.guard is None else self.guard) or ""
        return self.node.op_type, "" if _BRANCH.match(name) else _SUFFIX.sub("", name)

    @property
    def operands(self) -> tuple[ir.Value, ...]:
        """The inputs; none is optional."""
        return tuple(value for value in self.node.inputs if value is not None)

    @property
    def operand_names(self) -> tuple[str, ...]:
        """What its operands are called in messages."""
        if self.guard is not None:
            return ("data", "shape")
        return OPERATORS[self.node.op_type].operand_names(len(self.node.inputs))

    @property
    def value_names(self) -> frozenset[str]:
        """The names of the values that it reads and makes, by which namesakes are told apart."""
        return frozenset(stem(value) for value in (*self.operands, self.node.outputs[0]))


def stem(value: ir.Value) -> str:
    """The name of a value, without what ONNX Runtime puts around it.

    It does so where it converts float16, and where it puts a branch in the place of its If.

    Args:
        value: The value.
    """
    return _SUFFIX.sub("", _PREFIXES.sub("", value.name or ""))


def guards_by_output(model: ir.Model) -> Mapping[str, str]:
    """The names of all guards, each under the name of its output.

    Args:
        model: A model as the rewriting left it.
    """
    nodes = every_node(model.graph)
    guards = {stem(n.outputs[0]): n.name for n in nodes if n.name and _is_guard(n)}
    return MappingProxyType(guards)


def enforced_nodes(model: ir.Model, guards: Mapping[str, str]) -> Iterator[KeptNode]:
    """The guards, and every node that has to stay itself, in bodies at any depth too.

    Args:
        model: A model, optimized or not.
        guards: The names of the guards by their outputs. ONNX Runtime renames the nodes of a branch
            that it puts in the place of its If.
    """
    for node in every_node(model.graph):
        if node.domain != STANDARD_DOMAIN:
            continue
        if node.op_type in _STAYING:
            yield KeptNode(node)
        elif _is_guard(node):
            yield KeptNode(node, node.name)
        elif node.op_type in GUARDING_OPERATORS and stem(node.outputs[0]) in guards:
            yield KeptNode(node, guards[stem(node.outputs[0])])


def matched(expected: list[KeptNode], present: list[KeptNode]) -> dict[KeptNode, KeptNode]:
    """Find each expected node among those that are there.

    Args:
        expected: The nodes that are to be there.
        present: The nodes that are.

    Returns:
        The pairs. Namesakes, and nodes without a name, are told apart by their values' names.
    """
    pairs: dict[KeptNode, KeptNode] = {}
    free = {(*node.key, stem(node.node.outputs[0])): node for node in present}
    for node in expected:
        now = free.pop((*node.key, stem(node.node.outputs[0])), None)
        if now is not None:
            pairs[node] = now
    _match_by_operands(expected, present, pairs)
    return pairs


def _match_by_operands(
    expected: list[KeptNode],
    present: list[KeptNode],
    pairs: dict[KeptNode, KeptNode],
) -> None:
    """Match what is left: of the namesakes, the one whose values have most names in common."""
    taken = set(pairs.values())
    free: dict[tuple[str, str], list[KeptNode]] = defaultdict(list)
    for node in present:
        if node not in taken:
            free[node.key].append(node)
    left = [node for node in expected if node not in pairs and free[node.key]]
    for least in (2, 1, 0):
        for node in left:
            candidates = free[node.key]
            if node in pairs or not candidates:
                continue
            common = [len(node.value_names & other.value_names) for other in candidates]
            if max(common) >= least:
                pairs[node] = candidates.pop(common.index(max(common)))


def _is_guard(node: ir.Node) -> bool:
    return node.op_type in GUARDING_OPERATORS and guarded_node(node.name or "") is not None
