"""The rules on graphs as models: one that keeps each rule, and one that breaks it.

The examples of these rules are sentences; here they are written as ONNX writes models as text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx import helper

from sonnx_ort.comparing.audited_node import attributes_of
from sonnx_ort.oracle import Result, Undefined
from sonnx_ort.oracle import meaning as meaning_of
from sonnx_ort.oracle.node import ELEMENT_TYPES
from sonnx_ort.profile.graph import GRAPH, GRAPH_RULES
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule
from sonnx_ort.suite.applied import OPSET, Array, ordinary

_SUM = "(float[2, 3] a, float[2, 3] b) => (float[2, 3] y) <float[2, 3] c> {"
_TWO = f"{_SUM} c = Add(a, b) y = Relu(c) }}"
_ONE = "(float[2, 3] x) => (float[2, 3] y) {"
_RELU = f"{_ONE} y = Relu(x) }}"
_NOISE = f"{_ONE} y = RandomNormalLike<dtype = 1, mean = 0., scale = 1., seed = 1.>(x) }}"
_DROPOUT = (
    "(float[2, 3] x, float ratio, bool training) => (float[2, 3] y, bool[2, 3] m) "
    "{ y, m = Dropout<seed = 1>(x, ratio, training) }"
)
_POWER = "(float[2] x, {}[2] p) => (float[2] y) {{ y = Pow(x, p) }}"
_CONV = (
    "(float[1, 3, 5, 5] x, float[6, 3, 3, 3] w{0}) => (float[1, 6, 3, 3] y) {{ y = Conv<"
    'auto_pad = "NOTSET", dilations = [1, 1], group = 1, kernel_shape = [3, 3], '
    "pads = [0, 0, 0, 0], strides = [1, 1]>(x, w{1}) }}"
)
_POOL = (
    "(float[1, 3, 4, 4] x) => (float[1, 3, 3, 3] y{}) {}{{ y, i = MaxPool<"
    'auto_pad = "NOTSET", ceil_mode = 0, dilations = [1, 1], kernel_shape = [2, 2], '
    "pads = [0, 0, 0, 0], storage_order = 0, strides = [1, 1]>(x) }}"
)
_INDICES = "<int64[1, 3, 3, 3] i> "

_MODELS: Mapping[str, tuple[str, str]] = {
    "Graph.operator_set": (_RELU, f"{_ONE} y = HardSigmoid<alpha = 0.2, beta = 0.5>(x) }}"),
    "Graph.deterministic": (_RELU, _NOISE),
    "Graph.inference": (_RELU, _DROPOUT),
    "Graph.versions": (_TWO, _TWO),
    "GR2": (_TWO, _TWO.replace("<float[2, 3] c> ", "")),
    "GR3": (_POWER.format("float"), _POWER.format("int64")),
    "GR4": (f"{_ONE} y = Softmax<axis = 1>(x) }}", f"{_ONE} y = Softmax(x) }}"),
    "Graph.implicit_shape": (_TWO, _TWO.replace("<float[2, 3] c>", "<float[] c>")),
    "Graph.dead_node": (_TWO, f"{_SUM} y = Add(a, b) c = Relu(a) }}"),
    "Graph.unused_input": (_TWO, f"{_SUM} c = Add(a, a) y = Relu(c) }}"),
    "Graph.edges": (_CONV.format(", float[6] b", ", b"), _CONV.format("", "")),
    "Graph.unread": (_POOL.format(", int64[1, 3, 3, 3] i", ""), _POOL.format("", _INDICES)),
    "Graph.false_claim": (_TWO, _TWO.replace("<float[2, 3] c>", "<float[3, 2] c>")),
    "Graph.single_assignment": (_TWO, f"{_SUM} c = Add(a, b) c = Sub(a, b) y = Relu(c) }}"),
    "Graph.outputs": (_TWO, f"{_SUM} c = Add(a, b) z = Relu(c) }}"),
}
"""The graph that keeps a rule, and the one that breaks it."""


@dataclass(frozen=True)
class WholeGraph:
    """A graph and its inputs, as cases of single nodes have them."""

    graph: onnx.ModelProto
    feeds: Mapping[str, Array]
    broken_rules: tuple[Rule, ...] = ()
    edition: Edition = Edition.TYPED
    operator: str = GRAPH
    opset: int = OPSET
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> Mapping[str, Array]:
        """The inputs by name."""
        return self.feeds

    @property
    def results(self) -> int:
        """How many outputs it has."""
        return len(self.graph.graph.output)

    def model(self) -> onnx.ModelProto:
        """The model."""
        return self.graph

    @cached_property
    def meaning(self) -> tuple[Result, ...] | Undefined:
        """What its nodes mean, one after the other; all but the last ones are exact."""
        known: dict[str, Any] = dict(self.feeds)
        results: dict[str, Result] = {}
        for node in self.graph.graph.node:
            operands = [known[name] for name in node.input]
            called = node.op_type, self.opset, attributes_of(node), operands
            found = meaning_of(*called, self.edition)
            if isinstance(found, Undefined):
                return found
            results |= zip(node.output, found, strict=False)
            known |= {name: result.nearest for name, result in results.items()}
        return tuple(results[value.name] for value in self.graph.graph.output)


def graphs(
    generator: np.random.Generator, edition: Edition
) -> Iterator[tuple[Rule, bool, WholeGraph]]:
    """For each rule on graphs one graph that keeps all of them, and one that breaks it.

    Yields:
        The rule, whether it is kept, and the graph.
    """
    for rule in GRAPH_RULES:
        for kept, text in zip((True, False), _MODELS[rule.id], strict=True):
            model = _parsed(text)
            if rule.id == "Graph.versions" and not kept:
                model.opset_import.add(domain="", version=OPSET - 1)
            feeds = {
                value.name: ordinary(generator, ELEMENT_TYPES[_dtype(value)], _shape(value))
                for value in model.graph.input
            }
            yield rule, kept, WholeGraph(model, feeds, () if kept else (rule,), edition)


def _parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {OPSET}]> whole {text}')


def _dtype(value: onnx.ValueInfoProto) -> np.dtype[Any]:
    dtype: np.dtype[Any] = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    return dtype


def _shape(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
