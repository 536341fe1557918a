"""A node with its values in a run, and what it means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import helper, numpy_helper

from sonnx_ort.auditing.verdicts import NodeAudit, Verdict
from sonnx_ort.comparing.isolated_run import Array
from sonnx_ort.profile.operator import OWN_DOMAINS, STANDARD_DOMAIN

STANDARD_DOMAINS = (STANDARD_DOMAIN, "ai.onnx")
"""The names of the domain of ONNX's operators."""

_CHECKED = "Checked"
"""What the names of kernels start with that check the operands of an operator and compute it."""


@dataclass(frozen=True, slots=True)
class Audited:
    """A node with the values of a run.

    Attributes:
        node: The node.
        version: The version of the opset of its domain.
        operands: Its operands, None for those that are omitted or no tensors.
        results: Its results, None for those that the run has not.
        path: The nodes in whose bodies it is.
        recomputed: What computes the operands that the run has not, by their names. Their values
            were computed for the audit.
    """

    node: onnx.NodeProto
    version: int
    operands: Sequence[Array | None]
    results: Sequence[Array | None]
    path: tuple[str, ...] = ()
    recomputed: Mapping[str, "Audited"] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The node's name, or one derived from its output."""
        return self.node.name or f"(output {next(filter(None, self.node.output), '')})"

    @property
    def operator(self) -> str:
        """The operator, with its domain if that is not the default one."""
        node = self.node
        standard = node.domain in STANDARD_DOMAINS
        return node.op_type if standard else f"{node.domain}::{node.op_type}"

    @property
    def computed_operator(self) -> str:
        """The operator of ONNX that the node computes; empty for one that is of no standard."""
        node = self.node
        if node.domain in STANDARD_DOMAINS:
            return node.op_type
        computes = node.domain in OWN_DOMAINS and node.op_type.startswith(_CHECKED)
        return node.op_type.removeprefix(_CHECKED) if computes else ""

    def not_known(self, reason: str) -> NodeAudit:
        """The audit of a node of which nothing is known."""
        size = sum(each.size for each in self.results if each is not None)
        return NodeAudit(
            self.name, self.operator, self.path, Verdict.NOT_KNOWN, size, reason=reason
        )


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes of a node by name, without graphs: tensors are arrays, texts are str.

    Those of a Split say how many outputs it has, as they have to since version 18.
    """
    outputs = {"num_outputs": len(node.output)} if node.op_type == "Split" else {}
    return outputs | {
        each.name: _read(helper.get_attribute_value(each))
        for each in node.attribute
        if each.type not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
    }


def _read(value: Any) -> Any:
    match value:
        case bytes():
            return value.decode(errors="replace")
        case list():
            return [_read(each) for each in value]
        case onnx.TensorProto():
            return numpy_helper.to_array(value)
    return value


def versions(model: onnx.ModelProto) -> Mapping[str, int]:
    """The versions of the opsets by which nodes are judged, by domain.

    A kernel that checks operands computes what the operator of ONNX does.
    """
    found = {entry.domain: entry.version for entry in model.opset_import}
    standard = found.get("", found.get("ai.onnx", 1))
    return {**found, **dict.fromkeys((*STANDARD_DOMAINS, *OWN_DOMAINS), standard)}
