"""Random single nodes of every operator whose shapes are believed, with tensors to run them on.

Attributes, optional inputs, versions and sizes vary, also to what the operator's document does not
allow: `check` may know nothing of such a node, but never something wrong.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import defs

from sonnx_ort.analysis.shapes.catalog import SHAPE_RULES

Array = npt.NDArray[Any]
Inputs = Sequence[Array | None]
Attributes = dict[str, Any]

_TYPES = ("float32", "int64", "int32", "bool", "uint8", "float64", "uint64")
_MISUSED = 0.1
"""How many of the nodes have an attribute of a value that may not be the document's."""


@dataclass(frozen=True)
class OperatorCase:
    """A node and what it is run with.

    Attributes:
        operator: Its operator.
        opset: The version of the standard operators.
        inputs: One tensor for each input; None for one that is left out.
        attributes: Its attributes.
        outputs: The number of its outputs.
    """

    operator: str
    opset: int
    inputs: Inputs
    attributes: Attributes = field(default_factory=dict)
    outputs: int = 1


def random_case(rng: random.Random, operator: str) -> OperatorCase:
    """Make a node of an operator.

    Args:
        rng: Decides everything.
        operator: The operator's name.
    """
    version = rng.choice(believed_versions(operator))
    # Kernels begin at version 7 for most operators.
    opset = max(version, min(7, _next_version(operator, version) - 1))
    made = _Maker(rng, operator, version)
    inputs, attributes, outputs = MAKERS.get(operator, _Maker.like_first)(made)
    schema = defs.get_schema(operator, version)
    attributes = {k: v for k, v in attributes.items() if k in schema.attributes}
    if rng.random() < _MISUSED:
        _misuse(rng, schema, attributes)
    return OperatorCase(operator, opset, inputs, attributes, outputs)


def _versions() -> Mapping[str, Sequence[int]]:
    versions: dict[str, list[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        if not schema.domain:
            versions.setdefault(schema.name, []).append(schema.since_version)
    return {name: sorted(since) for name, since in versions.items()}


VERSIONS = _versions()
"""The versions of each standard operator, oldest first."""


def believed_versions(operator: str) -> list[int]:
    """The versions of an operator whose shapes are believed, oldest first.

    Args:
        operator: Its name.
    """
    first, last = SHAPE_RULES[operator].since
    return [version for version in VERSIONS[operator] if first <= version <= last]


def _next_version(operator: str, version: int) -> int:
    return next((later for later in VERSIONS[operator] if later > version), 1000)


def _misuse(rng: random.Random, schema: Any, attributes: Attributes) -> None:
    """Leave an attribute out, or give it another value."""
    names = [n for n, a in schema.attributes.items() if a.type in (_INT, _INTS)]
    if not names:
        return
    name = rng.choice(names)
    if schema.attributes[name].type == _INT:
        attributes[name] = rng.choice([-2, -1, 0, 1, 2])
    elif isinstance(attributes.get(name), list) and attributes[name]:
        values = list(attributes[name])
        values[rng.randrange(len(values))] = rng.choice([-1, 0, 1, 2, 3])
        attributes[name] = values
    if rng.random() < 1 / 3:
        attributes.pop(name, None)


_INT, _INTS = defs.OpSchema.AttrType.INT, defs.OpSchema.AttrType.INTS
_FLOAT = defs.OpSchema.AttrType.FLOAT

Made = tuple[Inputs, Attributes, int]


class _Maker:
    """Makes inputs and attributes of one node."""

    def __init__(self, rng: random.Random, operator: str, version: int) -> None:
        self.rng = rng
        self.operator = operator
        self.version = version

    # Building blocks.

    def maybe(self, probability: float = 0.5) -> bool:
        return self.rng.random() < probability

    def shape(self, *, least: int = 0, most: int = 4) -> list[int]:
        """A shape; every third has no size of 0, and no more than one of 1."""
        rank = self.rng.randint(least, most)
        sizes = self.rng.choice([[2, 3, 4], [0, 1, 2, 3], [1, 1, 2, 3]])
        return [self.rng.choice(sizes) for _ in range(rank)]

    def array(self, shape: Sequence[int], dtype: str | None = None) -> Array:
        dtype = dtype or self.dtype()
        count = math.prod(shape)
        low = 0 if np.dtype(dtype).kind in "ub" else -2
        values = [self.rng.randint(low, 3) for _ in range(min(count, 50))] or [1]
        return np.resize(np.array(values), shape).astype(dtype)

    def dtype(self, index: int = 0) -> str:
        """One of the types that the operator takes there; float32 most of the time."""
        schema = defs.get_schema(self.operator, self.version)
        kind = schema.inputs[min(index, len(schema.inputs) - 1)].type_str
        types = {t.type_param_str: t.allowed_type_strs for t in schema.type_constraints}
        allowed = types.get(kind, [kind])
        names = [t for t in _TYPES if f"tensor({_ONNX_NAMES.get(t, t)})" in allowed]
        return names[0] if self.maybe(0.7) or not names else self.rng.choice(names)

    def axis(self, rank: int) -> int:
        return self.rng.randint(-rank, rank - 1) if rank else self.rng.choice([0, -1])

    def ints(self, values: Sequence[int]) -> Array:
        return np.array(values, np.int64)

    # Operators of one shape.

    def like_first(self) -> Made:
        attributes: Attributes = {}
        schema = defs.get_schema(self.operator, self.version)
        shape = self.shape(least=self.rng.choice([0, 1, 2]))
        for name, attribute in schema.attributes.items():
            known = attribute.type in (_INT, _INTS, _FLOAT) or name in self._CHOSEN
            if attribute.required or (known and self.maybe(0.3)):
                attributes[name] = self._value_of(name, attribute.type, len(shape))
        outputs = 2 if self.operator == "Dropout" and self.maybe() else 1
        inputs: list[Array | None] = [self.array(shape)]
        if self.operator == "Clip" and self.version >= 11:
            bound = str(inputs[0].dtype) if inputs[0] is not None else "float32"
            inputs += [self.array([], bound) if self.maybe() else None for _ in range(2)]
        elif self.operator == "Dropout" and self.version >= 12 and self.maybe():
            inputs += [np.array(0.5, np.float32), np.array(self.maybe(0.3))]
        elif self.operator == "Trilu" and self.maybe():
            inputs.append(np.array(self.rng.randint(-2, 2), np.int64))
        elif self.operator == "CumSum":
            inputs.append(np.array(self.axis(len(shape)), self.rng.choice(["int32", "int64"])))
        return inputs, attributes, outputs

    def _value_of(self, name: str, kind: Any, rank: int) -> Any:
        if name in ("axis", "axes"):
            return self.axis(rank) if name == "axis" else [self.axis(rank)]
        if name in self._CHOSEN:
            return self.rng.choice(self._CHOSEN[name])
        return {_INT: self.rng.choice([0, 1]), _INTS: [self.rng.choice([0, 1])]}.get(kind, 0.5)

    _CHOSEN: Mapping[str, Sequence[Any]] = {
        "approximate": ["none", "tanh"],
        "direction": ["LEFT", "RIGHT"],
        "p": [1, 2],
        "size": [1, 3],
        "to": [1, 6, 7, 9, 10],
    }

    def normalized(self) -> Made:
        shape = [*self.shape(least=2, most=2), *self.shape(most=2)]
        channels = self.array([shape[1]], "float32")
        x = self.array(shape, "float32")
        number = {"BatchNormalization": 4, "InstanceNormalization": 2}[self.operator]
        attributes = {"epsilon": 1e-3} if self.maybe() else {}
        if self.maybe(0.3):
            attributes |= {"momentum": 0.5, "training_mode": 0, "spatial": 1}
        return [x, *[abs(channels) + 1] * number], attributes, 1

    def layer_normalized(self) -> Made:
        shape = self.shape(least=1)
        axis = self.axis(len(shape))
        scale = self.array(shape[axis:] if axis else shape, "float32")
        bias = [scale] if self.operator == "LayerNormalization" and self.maybe() else []
        return [self.array(shape, "float32"), scale, *bias], {"axis": axis, "epsilon": 1e-3}, 1

    def quantized(self) -> Made:
        shape = self.shape(least=1)
        axis = self.axis(len(shape))
        per_axis = self.version >= 13 and self.maybe()
        scale = self.array([shape[axis]] if per_axis else [], "float32") + np.float32(4)
        zero = self.array(scale.shape, "uint8")
        quantizes = self.operator == "QuantizeLinear"
        x = self.array(shape, "float32" if quantizes else "uint8")
        attributes = {"axis": axis} if per_axis or self.maybe(0.2) else {}
        return [x, scale, zero if self.maybe() else None], attributes, 1

    def scattered(self) -> Made:
        data = self.array(self.shape(least=1), "float32")
        if self.operator == "ScatterND":
            count = self.rng.randint(0, 2)
            indices = np.zeros([count, 1], np.int64)
            return [data, indices, self.array([count, *data.shape[1:]], "float32")], {}, 1
        axis = self.axis(data.ndim)
        part = [self.rng.randint(0, size) for size in data.shape]
        attributes = {"axis": axis, **({"reduction": "add"} if self.maybe(0.3) else {})}
        return [data, np.zeros(part, np.int64), self.array(part, "float32")], attributes, 1

    # Operators that broadcast.

    def broadcast(self) -> Made:
        count = {"Where": 3}.get(self.operator, 2)
        if self.operator in ("Max", "Mean", "Min", "Sum"):
            count = self.rng.randint(1, 4)
        common = self.shape()
        dtype = self.dtype(count - 1)
        inputs = [self.array(self._expandable(common), dtype) for _ in range(count)]
        if self.operator == "Where":
            inputs[0] = inputs[0].astype(bool)
        if dtype in ("int32", "int64", "uint8", "uint64") and self.operator in ("Div", "Mod"):
            inputs[1] = abs(inputs[1].astype("int64")).astype(dtype) + inputs[1].dtype.type(1)
        attributes: Attributes = {}
        if self.operator == "Mod":
            attributes = {"fmod": int(dtype == "float32")}
        if self.operator == "BitShift":
            attributes = {"direction": self.rng.choice(["LEFT", "RIGHT"])}
        return inputs, attributes, 1

    def _expandable(self, common: Sequence[int]) -> list[int]:
        sizes = [1 if self.maybe(0.25) else size for size in common]
        return sizes[self.rng.randint(0, len(sizes)) :] if self.maybe(0.25) else sizes

    # Reductions.

    def reduced(self) -> Made:
        shape = self.shape()
        attributes: Attributes = {"keepdims": self.rng.choice([0, 1])} if self.maybe(0.7) else {}
        if self.operator.startswith("Arg"):
            attributes |= {"axis": self.axis(len(shape)), "select_last_index": int(self.maybe())}
            return [self.array(shape)], attributes, 1
        axes = [self.axis(len(shape)) for _ in range(self.rng.randint(0, min(2, len(shape))))]
        if self.maybe(0.3):
            axes = [abs(axis) % max(len(shape), 1) for axis in axes]
        if self.version < (13 if self.operator == "ReduceSum" else 18):
            return [self.array(shape)], attributes | ({"axes": axes} if axes else {}), 1
        if self.maybe():
            attributes["noop_with_empty_axes"] = self.rng.choice([0, 1])
        return [self.array(shape), None if self.maybe(0.2) else self.ints(axes)], attributes, 1

    # Layout.

    def transposed(self) -> Made:
        shape = self.shape()
        order = self.rng.sample(range(len(shape)), len(shape))
        return [self.array(shape)], {"perm": order} if self.maybe(0.7) else {}, 1

    def concatenated(self) -> Made:
        shape = self.shape(least=1)
        axis = self.axis(len(shape))
        inputs = []
        for _ in range(self.rng.randint(1, 3)):
            sizes = list(shape)
            sizes[axis] = self.rng.randint(0, 3)
            if self.maybe(0.1):
                sizes[self.axis(len(shape))] = 0
            inputs.append(self.array(sizes, "float32"))
        return inputs, {"axis": axis}, 1

    def flattened(self) -> Made:
        shape = self.shape()
        axis = self.rng.randint(-len(shape) if self.version >= 11 else 0, len(shape))
        return [self.array(shape)], {"axis": axis} if self.maybe(0.8) else {}, 1

    def gathered(self) -> Made:
        data = self.array(self.shape(least=1))
        axis = self.axis(data.ndim)
        indices = np.zeros(self.shape(most=2), self.rng.choice(["int32", "int64"]))
        return [data, indices], {"axis": axis} if self.maybe(0.8) else {}, 1

    def gathered_elements(self) -> Made:
        data = self.array(self.shape(least=1))
        part = [self.rng.randint(0, size) for size in data.shape]
        return [data, np.zeros(part, np.int64)], {"axis": self.axis(data.ndim)}, 1

    def gathered_tuples(self) -> Made:
        data = self.array(self.shape(least=1))
        batch = self.rng.randint(0, data.ndim - 1) if self.version >= 12 and self.maybe(0.4) else 0
        front = [*data.shape[:batch], *self.shape(most=1)]
        depth = self.rng.randint(1, data.ndim - batch)
        indices = np.zeros([*front, depth], np.int64)
        return [data, indices], {"batch_dims": batch} if batch else {}, 1

    def squeezed(self) -> Made:
        shape = self.shape()
        ones = [axis for axis, size in enumerate(shape) if size == 1]
        axes = [a - len(shape) if self.maybe(0.3) and self.version >= 11 else a for a in ones]
        if self.maybe(0.1) and shape:
            axes = [self.axis(len(shape))]
        return self._with_axes(self.array(shape), axes, needed=False)

    def unsqueezed(self) -> Made:
        shape = self.shape(most=3)
        rank = len(shape) + self.rng.randint(1, 2)
        axes = self.rng.sample(range(rank), rank - len(shape))
        axes = [a - rank if self.maybe(0.3) and self.version >= 11 else a for a in axes]
        return self._with_axes(self.array(shape), axes, needed=True)

    def _with_axes(self, x: Array, axes: Sequence[int], *, needed: bool) -> Made:
        if self.version < 13:
            return [x], {"axes": list(axes)} if needed or axes else {}, 1
        return [x, self.ints(axes) if needed or self.maybe(0.8) else None], {}, 1

    def sliced(self) -> Made:
        shape = self.shape(least=1)
        axes = self.rng.sample(range(len(shape)), self.rng.randint(1, len(shape)))
        far = [-(1 << 63) + 1, -100, -3, -2, -1, 0, 1, 2, 3, 100, (1 << 31) - 1, (1 << 63) - 1]
        starts = [self.rng.choice([-3, -1, 0, 0, 0, 1, 2, 100]) for _ in axes]
        ends = [self.rng.choice(far) for _ in axes]
        if self.version < 10:
            attributes = {"starts": starts, "ends": ends}
            return [self.array(shape)], attributes | {"axes": axes}, 1
        axes = [axis - len(shape) if self.maybe(0.3) else axis for axis in axes]
        steps = [self.rng.choice([1, 1, 1, 2, -1, -2]) for _ in axes]
        rest = [self.ints(axes), self.ints(steps)] if self.maybe(0.8) else []
        if not rest:
            starts, ends = starts[: len(shape)], ends[: len(shape)]
        return [self.array(shape), self.ints(starts), self.ints(ends), *rest], {}, 1

    def split(self) -> Made:
        shape = self.shape(least=1)
        axis = self.axis(len(shape))
        count = self.rng.randint(1, 3)
        attributes: Attributes = {"axis": axis}
        parts = [self.rng.randint(0, 2) for _ in range(count)]
        shape[axis] = sum(parts) if self.maybe(0.6) else count * self.rng.randint(0, 2)
        if self.maybe() and sum(parts) == shape[axis]:
            if self.version < 13:
                return [self.array(shape)], attributes | {"split": parts}, count
            return [self.array(shape), self.ints(parts)], attributes, count
        if self.version >= 18:
            shape[axis] += self.rng.randint(0, 1)
            attributes["num_outputs"] = count
        return [self.array(shape)], attributes, count

    def padded(self) -> Made:
        shape = self.shape(least=1)
        chosen = self.version >= 18 and self.maybe(0.4)
        axes = self.rng.sample(range(len(shape)), self.rng.randint(1, len(shape)))
        count = len(axes) if chosen else len(shape)
        pads = [self.rng.choice([0, 0, 1, 2, -1]) for _ in range(2 * count)]
        mode = {"mode": self.rng.choice(["constant", "edge", "reflect"])} if self.maybe() else {}
        if self.version < 11:
            return [self.array(shape, "float32")], {"pads": pads, **mode}, 1
        value = np.array(0, np.float32) if self.maybe() else None
        rest: list[Array | None] = [value, self.ints(axes)] if chosen else [value]
        return [self.array(shape, "float32"), self.ints(pads), *rest], dict(mode), 1

    def rearranged(self) -> Made:
        block = self.rng.choice([1, 2, 3])
        batch, depth, height, width = self.shape(least=4)
        if self.operator == "DepthToSpace":
            shape = [batch, depth * block * block, height, width]
        else:
            shape = [batch, depth, height * block, width * block]
        mode = {"mode": self.rng.choice(["DCR", "CRD"])} if self.maybe() else {}
        return [self.array(shape, "float32")], {"blocksize": block, **mode}, 1

    def best(self) -> Made:
        shape = self.shape(least=1)
        axis = self.axis(len(shape))
        count = self.rng.randint(0, shape[axis])
        attributes = {"axis": axis, "largest": int(self.maybe()), "sorted": 1}
        if self.version < 10:
            return [self.array(shape, "float32")], attributes | {"k": max(count, 1)}, 2
        return [self.array(shape, "float32"), self.ints([count])], attributes, 2

    # Products and windows.

    def matrices(self) -> Made:
        inner = self.rng.choice([0, 1, 2, 3])
        batch = self.shape(most=2)
        a = [*self._expandable(batch), self.rng.randint(0, 3), inner]
        b = [*self._expandable(batch), inner, self.rng.randint(0, 3)]
        a = a[-1:] if self.maybe(0.1) else a
        b = b[-2:-1] if self.maybe(0.1) else b
        if self.operator == "MatMul":
            return [self.array(a, "float32"), self.array(b, "float32")], {}, 1
        x, y = self.array(a, "uint8"), self.array(b, "uint8")
        if self.operator == "MatMulInteger":
            return [x, y], {}, 1
        scale, zero = np.array(0.5, np.float32), np.array(1, np.uint8)
        return [x, scale, zero, y, scale, zero, scale, zero], {}, 1

    def general_product(self) -> Made:
        rows, inner, columns = (self.rng.choice([0, 1, 2, 3]) for _ in range(3))
        turned = [self.rng.choice([0, 1]) for _ in range(2)]
        a = [inner, rows] if turned[0] else [rows, inner]
        b = [columns, inner] if turned[1] else [inner, columns]
        c = self.rng.choice([[columns], [rows, columns], [1], [rows, 1]])
        bias = [] if self.version >= 11 and self.maybe() else [self.array(c, "float32")]
        attributes = {"transA": turned[0], "transB": turned[1], "alpha": 0.5}
        return [self.array(a, "float32"), self.array(b, "float32"), *bias], attributes, 1

    def windows(self) -> Made:
        rank = self.rng.randint(1, 3)
        kernel = [self.rng.choice([1, 2, 3]) for _ in range(rank)]
        attributes: Attributes = {"kernel_shape": kernel}
        if self.maybe():
            attributes["strides"] = [self.rng.choice([1, 2, 3]) for _ in range(rank)]
        if self.maybe(0.4):
            attributes["dilations"] = [self.rng.choice([1, 2]) for _ in range(rank)]
        if self.maybe(0.4):
            attributes["pads"] = [self.rng.choice([0, 1]) for _ in range(2 * rank)]
        elif self.maybe(0.4):
            modes = ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]
            attributes["auto_pad"] = self.rng.choice(modes)
        if self.maybe(0.3):
            attributes["ceil_mode"] = self.rng.choice([0, 1])
        size = [0, 1, 2, 3, 4, 5, 6, 7] if self.maybe(0.3) else [4, 5, 6, 7]
        spatial = [self.rng.choice(size) for _ in range(rank)]
        batch = self.rng.choice([1, 2, 0])
        if not self.operator.startswith("Conv"):
            x = self.array([batch, self.rng.choice([1, 2]), *spatial], "float32")
            return [x], attributes, 2 if self.operator == "MaxPool" and self.maybe(0.3) else 1
        group = self.rng.choice([1, 1, 2])
        inside, outside = (group * self.rng.choice([1, 2]) for _ in range(2))
        if self.operator != "ConvTranspose":
            filters = [outside, inside // group, *kernel]
        else:
            filters = [inside, outside // group, *kernel]
            if self.maybe(0.3):
                attributes["output_padding"] = [self.rng.choice([0, 1]) for _ in range(rank)]
        if self.maybe(0.3):
            del attributes["kernel_shape"]
        bias = [self.array([outside], "float32")] if self.maybe(0.3) else []
        x = self.array([batch, inside, *spatial], "float32")
        return [x, self.array(filters, "float32"), *bias], attributes | {"group": group}, 1

    def integer_windows(self) -> Made:
        (image, filters, *_), attributes, _ = self.windows()
        return (
            [self.array(x.shape, "uint8") for x in (image, filters) if x is not None],
            attributes,
            1,
        )

    def recurrent(self) -> Made:
        gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[self.operator]
        steps, batch, features, hidden = (self.rng.choice([1, 2, 3]) for _ in range(4))
        direction = self.rng.choice(["forward", "reverse", "bidirectional"])
        count = 2 if direction == "bidirectional" else 1
        inputs: list[Array | None] = [
            self.array([steps if self.maybe(0.9) else 0, batch, features], "float32"),
            self.array([count, gates * hidden, features], "float32"),
            self.array([count, gates * hidden, hidden], "float32"),
        ]
        if self.maybe(0.3):
            bias = self.array([count, 2 * gates * hidden], "float32") if self.maybe() else None
            inputs += [bias, None, self.array([count, batch, hidden], "float32")]
        attributes = {"hidden_size": hidden, "direction": direction}
        if self.maybe(0.1):
            attributes["layout"] = 1
        return inputs, attributes, self.rng.randint(1, 3 if self.operator == "LSTM" else 2)

    # Sizes.

    def constant(self) -> Made:
        kind = self.rng.choice(["value", "value_int", "value_ints", "value_float", "value_floats"])
        if kind == "value" or self.version < 12:
            tensor = onnx.numpy_helper.from_array(self.array(self.shape(), "float32"))
            return [], {"value": tensor}, 1
        one: Any = 1 if "int" in kind else 0.5
        listed = [one] * self.rng.randint(1, 3)
        return [], {kind: listed if kind.endswith("s") else one}, 1

    def filled(self) -> Made:
        return [self.ints(self.shape())], {}, 1

    def expanded(self) -> Made:
        common = self.shape()
        return [self.array(self._expandable(common)), self.ints(self._expandable(common))], {}, 1

    def tiled(self) -> Made:
        shape = self.shape(least=1)
        return [self.array(shape), self.ints([self.rng.randint(0, 3) for _ in shape])], {}, 1

    def reshaped(self) -> Made:
        shape = self.shape()
        target = self.rng.sample(shape, len(shape))
        if self.maybe(0.3):
            target = [math.prod(shape)]
        if target and self.maybe(0.3):
            target[self.rng.randrange(len(target))] = -1
        if target and self.maybe(0.3):
            target[self.rng.randrange(len(target))] = 0
        attributes = {"allowzero": self.rng.choice([0, 1])} if self.maybe(0.3) else {}
        return [self.array(shape), self.ints(target)], attributes, 1

    def ranged(self) -> Made:
        dtype = self.dtype()
        step = self.rng.choice([1, 2, -1])
        return [np.array(v, dtype) for v in (self.rng.randint(-2, 3), 4 * step, step)], {}, 1

    def one_hot(self) -> Made:
        indices = self.array(self.shape(most=3), "int64")
        axis = self.rng.randint(-indices.ndim - 1, indices.ndim)
        values = np.array([0, 1], np.float32)
        depth = np.array(self.rng.choice([1, 3]), np.int64)
        return [indices, depth.reshape(self.rng.choice([[], [1]])), values], {"axis": axis}, 1

    def dynamically_quantized(self) -> Made:
        return [self.array(self.shape(), "float32")], {}, 3

    def resized(self) -> Made:
        shape = [1, 1, self.rng.randint(1, 25), self.rng.randint(1, 25)]
        scales = np.array([1, 1, self.rng.choice([1, 2, 0.5, 0.3]), 2], np.float32)
        if self.maybe():
            scales[2:] = [self.rng.uniform(0.2, 4), self.rng.randint(1, 60) / 7]
        x = self.array(shape, "float32")
        attributes = {"mode": self.rng.choice(["nearest", "linear"])}
        if self.operator == "Upsample" and self.version < 9:
            return [x], attributes | {"scales": [float(s) for s in scales]}, 1
        if self.version < 11:
            return [x, scales], attributes, 1
        region = np.zeros(0, np.float32) if self.version < 13 else None
        if self.maybe():
            no_scales = None if region is None else region
            return [x, region, no_scales, self.ints([1, 1, 3, 5])], attributes, 1
        return [x, region, scales], attributes, 1

    def spectrum(self) -> Made:
        steps = self.rng.randint(4, 8)
        if self.operator == "STFT":
            inputs = [self.array([2, steps, 1], "float32"), np.array(2, np.int64)]
            rest = [None, np.array(4, np.int64)]
            return [*inputs, *rest], {"onesided": self.rng.choice([0, 1])}, 1
        attributes = {"axis": 1, "onesided": self.rng.choice([0, 1])}
        return [self.array([2, steps, self.rng.choice([1, 2])], "float32")], attributes, 1

    def shape_of(self) -> Made:
        attributes: Attributes = {}
        if self.version >= 15 and self.maybe():
            attributes["start"] = self.rng.randint(-3, 3)
        if self.version >= 15 and self.maybe():
            attributes["end"] = self.rng.randint(-3, 3)
        return [self.array(self.shape())], attributes, 1


_ONNX_NAMES = {"float32": "float", "float64": "double"}

MAKERS: Mapping[str, Callable[[_Maker], Made]] = {
    **dict.fromkeys(
        (
            *("Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal"),
            *("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod"),
            *("Mul", "Or", "PRelu", "Pow", "Sub", "Sum", "Where", "Xor"),
        ),
        _Maker.broadcast,
    ),
    **{name: _Maker.reduced for name in SHAPE_RULES if name.startswith(("Reduce", "Arg"))},
    **dict.fromkeys(("AveragePool", "Conv", "ConvTranspose", "LpPool", "MaxPool"), _Maker.windows),
    "ConvInteger": _Maker.integer_windows,
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _Maker.recurrent),
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), _Maker.matrices),
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization"), _Maker.normalized),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _Maker.layer_normalized),
    **dict.fromkeys(("DequantizeLinear", "QuantizeLinear"), _Maker.quantized),
    "DynamicQuantizeLinear": _Maker.dynamically_quantized,
    **dict.fromkeys(("ScatterElements", "ScatterND"), _Maker.scattered),
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth"), _Maker.rearranged),
    **dict.fromkeys(("Resize", "Upsample"), _Maker.resized),
    **dict.fromkeys(("DFT", "STFT"), _Maker.spectrum),
    "Concat": _Maker.concatenated,
    "Constant": _Maker.constant,
    "ConstantOfShape": _Maker.filled,
    "Expand": _Maker.expanded,
    "Flatten": _Maker.flattened,
    "Gather": _Maker.gathered,
    "GatherElements": _Maker.gathered_elements,
    "GatherND": _Maker.gathered_tuples,
    "Gemm": _Maker.general_product,
    "OneHot": _Maker.one_hot,
    "Pad": _Maker.padded,
    "Range": _Maker.ranged,
    "Reshape": _Maker.reshaped,
    "Shape": _Maker.shape_of,
    "Slice": _Maker.sliced,
    "Split": _Maker.split,
    "Squeeze": _Maker.squeezed,
    "Tile": _Maker.tiled,
    "TopK": _Maker.best,
    "Transpose": _Maker.transposed,
    "Unsqueeze": _Maker.unsqueezed,
}
"""How inputs and attributes are made for operators that take more than one tensor as it is."""
