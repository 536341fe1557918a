"""Tables of what keeps and what breaks rules in runs, in the notation of the examples of rules.

    MatMul
      (T[k] e, int64[r] sizes, T[b, c] B) => (T[p, q] Y) { A = ... [node] Y = MatMul(A, B) }
      in float double
      kept: A (2, 2), B (2, 2)
      C1: A (1, 2, 2)

Below the name stand the model, with T in the place of the types in which it is tried, and rows:
what keeps all rules, and what breaks a rule, by its tag. A row leaves out what it has in common
with the first. Tensors that have a shape alone get some elements. The operand whose rank a model
hides from the analysis is read from e and sizes.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from sonnx_ort.vectors.examples import read
from support.graphs import parse

Array = np.ndarray
Feeds = dict[str, Array]
_OLD = ort.__version__.startswith("1.23.")


@dataclass
class Table:
    """One node and what is fed to it.

    Attributes:
        text: The model.
        types: The types in which it is tried, each with the version of the standard operators.
        kept: What keeps all rules.
        broken: The tag of the rule that each of others breaks.
    """

    text: str
    types: list[tuple[str, int]] = field(default_factory=list)
    kept: list[Feeds] = field(default_factory=list)
    broken: list[tuple[str, Feeds]] = field(default_factory=list)

    def model(self, kind: str, opset: int) -> onnx.ModelProto:
        """The model in a type."""
        text = self.text.replace("T[", f"{kind}[").replace("T ", f"{kind} ")
        return parse(text, opset=opset)

    def fed(self, feeds: Feeds, model: onnx.ModelProto) -> Feeds:
        """What the inputs of the model get, in their types."""
        types = {v.name: v.type.tensor_type.elem_type for v in model.graph.input}
        found = {}
        for name, array in feeds.items():
            if name in types:
                found[name] = array
            else:
                found |= {"e": array.ravel(), "sizes": np.array(array.shape)}
        return {n: a.astype(helper.tensor_dtype_to_np_dtype(types[n])) for n, a in found.items()}

    def add(self, row: str) -> None:
        """Add a row."""
        tag, _, said = row.partition(": ")
        feeds = {**(self.kept[0] if self.kept else {}), **_arrays(said)}
        match tag:
            case "kept":
                self.kept.append(feeds)
            case "kept by newer kernels":
                self.kept += [] if _OLD else [feeds]
            case _:
                self.broken.append((tag, feeds))


def _arrays(text: str) -> Feeds:
    operands, _ = read(text)
    return {o.name: _ramp(o.shape) if o.constant is None else o.constant for o in operands}


def _ramp(shape: tuple[int, ...]) -> Array:
    return (np.arange(np.prod(shape, dtype=np.int64)) * 7 % 5).reshape(shape)


def tables(text: str) -> Mapping[str, Table]:
    """The tables by their names."""
    return dict(_read(re.sub(r"\n {6,}", " ", text)))


def _read(text: str) -> Iterator[tuple[str, Table]]:
    for part in re.split(r"\n(?=\S)", text.strip()):
        name, model, *lines = (line.strip() for line in part.splitlines())
        table = Table(model)
        for line in lines:
            if line.startswith("in "):
                kinds, _, opset = line.removeprefix("in ").partition(" of version ")
                table.types += [(kind, int(opset or 18)) for kind in kinds.split()]
            else:
                table.add(line)
        yield name, table
