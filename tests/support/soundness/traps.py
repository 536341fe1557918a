"""Tables of graphs that mislead, each with a run of it.

    n against m is not n
      (float[n] x, float[m] y) => (float[] z) { s = Add(x, y) z = Div(s, x) }
      fed: x (1,), y (3,)

Below what misleads stand the graph, continued where a line is indented further, and the feeds in
the notation of the examples of rules. "[]" means that a rank is unknown. Further lines have the
"scalars" among the inputs and outputs, of subgraphs too; what the file "claims" of values in
between; "functions" of the domain "local"; the "opset", if it is not that of the table; what
becomes of operands of different shapes; and the shapes of the last node's "operands".
"""

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from onnx import helper

from sonnx_ort.vectors.examples import read
from support.graphs import parse
from support.soundness.arrays import Array

_FUNCTION = '<opset_import: ["" : 17], domain: "local"> '


@dataclass
class Trap:
    """A graph, and a run of it.

    Attributes:
        name: What misleads.
        graph: Inputs, outputs and nodes in ONNX's text form.
        opset: The version of the standard operators.
        said: The further lines, by their first words.
    """

    name: str
    graph: str
    opset: int
    said: dict[str, str]

    @cached_property
    def model(self) -> onnx.ModelProto:
        """The graph as a model, whose nodes have names."""
        functions = f" {_FUNCTION}{self.said['functions']}" if "functions" in self.said else ""
        domains = {"sonnx": 1, "local": 1}
        made = parse(self.graph + functions, opset=self.opset, domains=domains)
        graphs = [made.graph, *(a.g for node in made.graph.node for a in node.attribute)]
        scalars = self.said.get("scalars", "").split(", ")
        for value in (v for graph in graphs for v in (*graph.input, *graph.output)):
            if value.name in scalars:
                value.type.tensor_type.shape.SetInParent()
        for name, shape in self.claims.items():
            claimed = helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
            made.graph.value_info.append(claimed)
        # A name by which the oracle and the report speak of each node.
        for number, node in enumerate(node for graph in graphs for node in graph.node):
            node.name = f"{node.op_type}{number}"
        return made

    @property
    def claims(self) -> dict[str, list[int | str]]:
        """The sizes that the file claims of values."""
        claims: dict[str, list[int | str]] = ast.literal_eval(self.said.get("claims", "{}"))
        return claims

    @cached_property
    def feeds(self) -> dict[str, Array]:
        """What is fed; ones where a shape alone is said."""
        types = {v.name: v.type.tensor_type.elem_type for v in self.model.graph.input}
        operands, _ = read(self.said["fed"])
        arrays = {o.name: np.ones(o.shape) if o.constant is None else o.constant for o in operands}
        return {n: a.astype(helper.tensor_dtype_to_np_dtype(types[n])) for n, a in arrays.items()}

    @property
    def operands(self) -> Any:
        """The shapes of the last node's operands; None if they differ from level to level."""
        return ast.literal_eval(self.said["operands"])

    def __str__(self) -> str:
        """Say what misleads."""
        return self.name


def traps(text: str, opset: int) -> list[Trap]:
    """The traps of a table, which are of an opset unless they say another."""
    found = []
    for part in re.split(r"\n(?=\S)", re.sub(r"\n {6,}", " ", text).strip()):
        name, graph, *lines = (line.strip() for line in part.splitlines())
        said = dict(line.split(": ", 1) for line in lines)
        found.append(Trap(name, graph, int(said.get("opset", opset)), said))
    return found
