"""An output of the body of a Loop or a Scan."""

from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.enforcing.metadata import Groups
from sonnx_ort.enforcing.nodes import StandardNodes


@dataclass(frozen=True, slots=True)
class BodyOutput:
    """An output of a body.

    Attributes:
        body: The body.
        index: The index of the output.
    """

    body: ir.Graph
    index: int

    @property
    def value(self) -> ir.Value:
        """The output, which enforcement may replace."""
        return self.body.outputs[self.index]

    def return_instead(self, given: ir.Value, nodes: StandardNodes, groups: Groups) -> None:
        """Let the body return another value, which new nodes compute from the output."""
        groups.record_after(nodes, {self.value: given})
        self.body.extend(nodes.nodes)
        self.body.outputs[self.index] = given
