"""Nodes that keep all rules, and the examples of rules as nodes.

An example of a rule says what decides, such as `X (2, 3), axis=1`. What it omits it has in
common with a node that keeps all rules, `FITTING`; where that does not fit, `COMPLETED` says the
rest. The notation:

    example   = part {"," part}
    part      = operand | attribute | types | "scalars" | "shared" symbol {symbol}
    operand   = name (shape ["of" elements] | elements | element type | "?") ["in" bounds]
    shape     = "(" {size ","} ")"               as Python writes a tuple
    size      = number | symbol | "?"            a symbol or ? is an open size
    elements  = number | list of numbers         as Python writes them; also NaN and inf
    bounds    = integer ".." integer
    attribute = name "=" value | "axis" integer  a value as Python writes it
    types     = ["both" | "all"] element type | "unknown types"

    X (2, n), axes [0, -1], axis=1               a shape, a constant, an attribute
    X [2.5, NaN], Y 3.0, both float16            two constants of one type
    X ?                                          an operand of unknown rank
    S (k,) in 1..9                               integers of int64 between bounds
    X (2, 3) of [1, NaN]                         six elements: 1, NaN, 1, NaN, 1, NaN

Without a type a shape is one of float, and a constant of float or int64, as its numbers are. Types
by themselves are those of all operands. "scalars" says that an input is declared as a scalar, and
"shared n" that several dimensions are declared as n.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx.defs

from sonnx_ort.facts.schemas import known_schema
from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.meaning.numbers import TYPES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Attributes, AttributeValue, Rule
from sonnx_ort.terms.operand import Operand
from sonnx_ort.vectors.applied import OPSET, Applied, Array, ordinary

_NAN = "not a number"


def read(text: str) -> tuple[list[Operand], Attributes]:
    """The operands and the attributes.

    Raises:
        ValueError: It has anything else.
    """
    operands: list[Operand] = []
    attributes: dict[str, AttributeValue] = {}
    known: dict[str, Any] = {}
    kind = None
    for part in parts(text):
        name, is_attribute, value = part.partition("=")
        word, _, rest = part.partition(" ")
        if is_attribute:
            found = _literal(value)
            attributes[name] = tuple(found) if isinstance(found, list) else found
        elif word == "axis":
            attributes[word] = int(rest)
        elif (of_all := re.sub("^(both|all) ", "", part)) in list(ElementType):
            kind = ElementType(of_all)
        elif part == "unknown types":
            known["element_type"] = None
        elif part == "scalars":
            known["scalar_inputs"] = True
        elif word == "shared":
            known["shared_symbols"] = frozenset(rest.split())
        else:
            operands.append(_operand(word, rest))
    if kind is not None:
        operands = [_converted(operand, kind) for operand in operands]
    return [replace(operand, **known) for operand in operands], attributes


def parts(text: str) -> Iterator[str]:
    """The parts between commas that are in no brackets."""
    depth, part = 0, ""
    for letter in f"{text},":
        depth += (letter in "([") - (letter in ")]")
        if letter != "," or depth:
            part += letter
        else:
            yield from filter(None, [part.strip()])
            part = ""


def _literal(text: str) -> Any:
    """The value of a literal of Python, in which NaN and inf are numbers."""
    text = re.sub(r"(?<!\w)NaN(?!\w)", repr(_NAN), text)
    try:
        return _with_nan(ast.literal_eval(re.sub(r"(?<!\w)inf(?!\w)", "1e999", text)))
    except SyntaxError as error:
        raise ValueError(f"{text} is no value") from error


def _with_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_nan(each) for each in value]
    return np.nan if value == _NAN else value


def _operand(name: str, text: str) -> Operand:
    """An operand by what a table states: a type, a shape, elements or bounds."""
    text, _, bounds = text.partition(" in ")
    text, _, repeated = text.partition(" of ")
    operand = Operand(name, name.lower(), "input", "float")
    if bounds:
        interval = Bounds(*map(int, bounds.split("..")))
        operand = replace(operand, element_type="int64", bounds=interval)
    if text in list(ElementType):
        return replace(operand, element_type=text)
    if text.startswith("(") and not repeated:
        sizes = re.sub(r"[A-Za-z_]\w*", lambda symbol: f"'{symbol[0]}'", text)
        return replace(operand, shape=_literal(sizes.replace("?", "None")))
    if text == "?":
        return operand
    array = np.array(_literal(repeated or text))
    if repeated:
        array = np.resize(array, _literal(text))
    if array.dtype.kind not in "if":
        raise ValueError(f"{text} is no number")
    array = array if array.size else array.astype(np.int64)
    kind = ElementType.FLOAT if array.dtype.kind == "f" else ElementType.INT64
    return _converted(replace(operand, shape=array.shape, constant=array), kind)


def _converted(operand: Operand, kind: ElementType) -> Operand:
    constant = operand.constant
    array = None if constant is None else constant.astype(kind.dtype)
    return replace(operand, element_type=kind.value, constant=array)


_WINDOWS = (
    'auto_pad="NOTSET", dilations=[1, 1], kernel_shape=[{0}, {0}], pads=[0, 0, 0, 0], '
    "strides=[1, 1]"
)

FITTING: Mapping[str, str] = {
    "Acos": "X [[0.5, -0.25, 0.0], [1.0, -1.0, 0.75]]",
    "ArgMax": "X (2, 3), axis=1, keepdims=1, select_last_index=0",
    "BatchNormalization": "X (2, 3, 4), scale (3,), B (3,), input_mean (3,), "
    "input_var [1.0, 0.5, 2.0], epsilon=1e-5, momentum=0.9, training_mode=0",
    "BitShift": 'X (2, 3), Y [[0, 1, 2], [3, 4, 5]], direction="LEFT"',
    "Cast": "X (2, 3), to=1",
    "Clip": "input (2, 3), min 1.0, max 5.0",
    "Concat": "X0 (2, 3), X1 (1, 3), axis=0",
    "Constant": "value={(2, 3)}",
    "ConstantOfShape": "S [2, 3], value={7}",
    "Conv": f"X (1, 3, 5, 5), W (6, 3, 3, 3), B (6,), group=1, {_WINDOWS.format(3)}",
    "ConvInteger": "X (1, 3, 5, 5), W (6, 3, 3, 3), x_zero_point 3, w_zero_point 2, group=1, "
    + _WINDOWS.format(3),
    "ConvTranspose": f"X (1, 2, 3, 3), W (2, 3, 2, 2), B (3,), group=1, "
    f"output_padding=[0, 0], {_WINDOWS.format(2)}",
    "DequantizeLinear": "X (2, 3), x_scale 0.5, x_zero_point 3, axis=1, block_size=0",
    "Div": "A (2, 3), B [[1, 2, 3], [4, 5, 6]]",
    "Erf": "X (2, 3)",
    "Expand": "X (3, 1), S [2, 3, 4]",
    "Flatten": "X (2, 3), axis=1",
    "GRU": "X (5, 2, 4), W (1, 9, 4), R (1, 9, 3), B (1, 18), sequence_lens [5, 3], "
    'initial_h (1, 2, 3), hidden_size=3, activations=["Sigmoid", "Tanh"], direction="forward", '
    "layout=0, linear_before_reset=0",
    "Gather": "X (3, 4), I [[0, 2], [2, 1]], axis=0",
    "Gemm": "A (2, 3), B (3, 4), C (2, 4), alpha=1, beta=1, transA=0, transB=0",
    "GlobalAveragePool": "X (1, 2, 3, 4)",
    "HardSwish": "X (2, 3)",
    "Identity": "X (2, 3)",
    "LSTM": "X (5, 2, 4), W (1, 12, 4), R (1, 12, 3), B (1, 24), sequence_lens [5, 3], "
    "initial_h (1, 2, 3), initial_c (1, 2, 3), P (1, 9), hidden_size=3, "
    'activations=["Sigmoid", "Tanh", "Tanh"], direction="forward", input_forget=0, layout=0, '
    "W an initializer, R an initializer, B an initializer, sequence_lens an initializer, "
    "initial_h an initializer, initial_c an initializer, P an initializer",
    "LeakyRelu": "X (2, 3), alpha=0.1",
    "MatMul": "A (2, 3), B (3, 4)",
    "MaxPool": f"X (1, 3, 4, 4), ceil_mode=0, storage_order=0, {_WINDOWS.format(2)}",
    "Mod": "A (2, 3), B [[1, 2, 3], [4, 5, 6]]",
    "Not": "X (2, 3)",
    "Pad": 'X (2, 3), P [0, 1, 2, 0], C 5, mode="constant"',
    "Pow": "X (2, 3), Y [[0, 1, 2], [2, 1, 0]]",
    "QuantizeLinear": "X (2, 3), y_scale 0.5, y_zero_point 128, axis=1, block_size=0, saturate=1",
    "Range": "S 1, L 9, D 2",
    "ReduceMean": "X (2, 3, 4), A [1], keepdims=1, noop_with_empty_axes=0",
    "ReduceSum": "X (2, 3, 4), A [1], keepdims=1, noop_with_empty_axes=0",
    "Reshape": "X (2, 3), S [3, 2], allowzero=0",
    "Resize": "X (1, 2, 3, 4), roi [], roi left out, scales [1.0, 1.0, 2.0, 2.0], "
    'mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric"',
    "ScatterND": "X (4, 3), I [[2], [0]], U (2, 3)",
    "Slice": "X (4, 5), starts [0, 1], ends [4, 5], axes [0, 1], steps [1, 2]",
    "Softmax": "X (2, 3), axis=1",
    "Softplus": "X (2, 3)",
    "Split": "X (6, 2), S [1, 2, 3], axis=0",
    "Squeeze": "X (1, 3, 1), A [0]",
    "Transpose": "X (2, 3, 4), perm=[2, 0, 1]",
    "Unsqueeze": "X (3,), A [0]",
}
"""A node of each operator that keeps all rules; element-wise ones have operands of shape (2, 3)."""

_STATES = "initial_h (1, {0}, 3), initial_c (1, {0}, 3)"

COMPLETED: Mapping[str, str] = {
    "ArgMax.float.C1": "axis=0",
    "BatchNormalization.C3": "X (2, 2, 4), scale (2,), B (2,), input_mean (2,)",
    "BatchNormalization.X.C3": "scale (3,) | scale (1,), B (1,), input_mean (1,), input_var [1.0]",
    "BitShift.int.R2": "X uint8, Y uint8 | X uint8, Y uint16",
    "Clip.max.C2": "min left out, max left out, max=2.5 | min left out, max left out, max=NaN",
    "Clip.min.C2": "max left out, min left out, min=2.5 | max left out, min left out, min=NaN",
    "Concat.C3": "X1 (2,) | X1 ()",
    "Concat.R1": "X1 (2, 1)",
    "Concat.axis.C1": "X1 (2, 1)",
    "Constant.R1": "| value left out",
    "Conv.R1": "| kernel_shape=[3], strides=[1], dilations=[1], pads=[0, 0]",
    "Conv.R3": "W (4, 1, 3, 3), B (4,) | W (4, 2, 3, 3), B (4,)",
    "Conv.kernel": "| kernel_shape left out",
    "Conv.outputs": "X (1, 4, 5, 5), B (8,) | X (1, 4, 5, 5)",
    "ConvInteger.C1": "x_zero_point 0 | ",
    "ConvInteger.R1": "| kernel_shape=[3], strides=[1], dilations=[1], pads=[0, 0]",
    "ConvInteger.R3": "W (4, 1, 3, 3) | W (4, 2, 3, 3)",
    "ConvInteger.kernel": "| kernel_shape left out",
    "ConvInteger.outputs": "X (1, 4, 5, 5)",
    "ConvInteger.signs": "x_zero_point int8, w_zero_point int8 | x_zero_point int8",
    "DequantizeLinear.C1": "all int32",
    "Gemm.R2.transA": "| A (3, 2)",
    "Gemm.R2.transB": "| B (4, 3)",
    "LSTM.batch": f"{_STATES.format(1)}, sequence_lens [5] | {_STATES.format(0)}, sequence_lens []",
    "LSTM.sequences": "sequence_lens [1, 1] | sequence_lens [0, 0]",
    "MaxPool.R1": "| kernel_shape=[2], pads=[0, 0], strides=[1], dilations=[1]",
    "MaxPool.float.C2": "X [[[[0.5, inf]]]], kernel_shape=[1, 2] | "
    "X [[[[0.5, NaN]]]], kernel_shape=[1, 2]",
    "Slice.A.C2": "starts [0, 0], ends [2, 3]",
    "Slice.A.C3": "starts [0, 0], ends [2, 3]",
    "Slice.C2": "axes [0], steps [1]",
    "Slice.C3": "starts [0], ends [1], axes [0], steps [1]",
    "Slice.K.C2": "starts [0, 4], ends [4, 0]",
    "Slice.R10": "axes int32, steps int32",
    "Slice.R2": "starts [0, 0], ends [2, 3] | starts [0], ends [3], steps [1]",
    "Slice.R6": "axes [0]",
    "Slice.R8": "axes [0], steps [1]",
    "Squeeze.axes": "A left out",
    "Squeeze.axes.names": "A left out",
}
"""What the kept example of a rule needs besides, and, after the bar, the broken one."""

_PREFERRED = (ElementType.FLOAT, ElementType.INT32, ElementType.UINT8, ElementType.BOOL)


def fitting(
    operator: Operator,
    kind: ElementType,
    generator: np.random.Generator,
    edition: Edition = Edition.TYPED,
) -> Applied:
    """A node that keeps all rules, but for the types that they admit.

    `kind` is the type of the operands that have none of their own.
    """
    return _Draft(operator, kind).applied(OPSET, generator, edition)


def varied(
    operator: Operator,
    kind: ElementType,
    text: str,
    generator: np.random.Generator,
    edition: Edition = Edition.TYPED,
) -> Applied:
    """The node that keeps all rules, with what a text in the notation of examples changes.

    Raises:
        ValueError: The text says anything else.
    """
    draft = _Draft(operator, kind)
    for part in parts(text):
        draft.change(part, part.partition(" ")[0].partition("=")[0])
    return draft.applied(OPSET, generator, edition)


def examples(
    operator: Operator, rule: Rule, generator: np.random.Generator, edition: Edition
) -> tuple[Applied, Applied]:
    """The example of a rule: a node that keeps it, and one that breaks it.

    Raises:
        ValueError: The example is no node of the operator.
    """
    example = rule.example
    kept, bar, broken = COMPLETED.get(rule.id, "").partition("|")
    completed = (kept, broken if bar else kept)
    pairs = zip((example.kept, example.broken), completed, strict=True)
    kind = _type_of(operator, rule, edition)
    made = []
    for text, rest in pairs:
        draft = _Draft(operator, kind)
        draft.read(text.partition(":")[0], rule)
        for part in parts(rest):
            draft.change(part, part.partition(" ")[0].partition("=")[0])
        made.append(draft.applied(_version(operator, rule, draft.attributes), generator, edition))
    return made[0], made[1]


def _type_of(operator: Operator, rule: Rule, edition: Edition) -> ElementType:
    """A type of which the rule is."""
    contract = operator.contracts[edition]
    families = [family for family, rules in contract.items() if rule in rules]
    schema = known_schema(operator.name, OPSET)
    first = next((k for k, n in enumerate(operator.operands) if n not in operator.operand_types), 0)
    admitted = schema.inputs[first].types if schema.inputs else schema.outputs[0].types
    kinds: Sequence[ElementType] = (*_PREFERRED, *ElementType)
    for kind in kinds:
        if kind.family in families and f"tensor({kind})" in admitted:
            return kind
    raise ValueError(f"{rule.id} is of no type of {operator.name}")


def _version(operator: Operator, rule: Rule, attributes: Mapping[str, Any]) -> int:
    """The opset nearest to `OPSET` in which the rule applies and the attributes are known."""
    if rule.until is not None:
        return min(OPSET, rule.until)
    versions = sorted({OPSET, *(v for v in operator.versions if v > OPSET)})
    newest = onnx.defs.onnx_opset_version()
    for version in versions:
        known = known_schema(operator.name, min(version, newest)).attributes
        if version <= newest and attributes.keys() <= known.keys():
            return version
    return OPSET


@dataclass
class _Draft:
    """A node in the making: operands are shapes, elements, or omitted."""

    operator: Operator
    kind: ElementType
    operands: dict[str, Any] = field(default_factory=dict)
    types: dict[str, ElementType] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    constants: set[str] = field(default_factory=set)
    sparse: str = ""
    declared: ElementType | None = None

    def __post_init__(self) -> None:
        """Begin with the node that keeps all rules."""
        names = self.operator.operand_names(2)
        text = FITTING.get(self.operator.name) or ", ".join(f"{name} (2, 3)" for name in names)
        if self.operator.name == "Mod":
            text += f", fmod={int(self.kind.family == 'float')}"
        for part in parts(text):
            self.change(part, part.partition(" ")[0])

    def read(self, text: str, rule: Rule) -> None:
        """Change it to what an example says.

        Raises:
            ValueError: The example says anything else.
        """
        stated = [*parts(text)]
        own = rule.operands or tuple(self.operands) or ("B",)
        words = [re.match(r"\w*", part)[0] for part in stated]  # type: ignore[index]
        free = [name for name in own if name not in words]
        for part, word in zip(stated, words, strict=True):
            # The letters of a common example stand for the operands of the rule.
            is_placeholder = word in "AB" and word not in own
            plain = re.search(
                r"=|^\w+$|^(to|axis|both|all|no) | (left out|given|\w*initializer|input)$", part
            )
            if plain or (word in self.operands and not is_placeholder):
                self.change(part, word)
            elif free:
                self.change(part, free.pop(0))
            else:
                self._declare(part, own)

    def _declare(self, part: str, operands: Sequence[str]) -> None:
        """The last letter of an example about types stands for the result."""
        kind = ElementType(part.rpartition(" ")[2])
        if len(operands) == 1 and operands[0] in self.operator.operand_types:
            self.types[operands[0]] = kind
        else:
            # The result of some operators has a type of its own, which no file may change.
            own = self.operator.result_type
            wrong = ElementType.INT32 if kind == own else kind
            self.declared = None if kind is self.types.get(operands[0]) else wrong

    def change(self, part: str, name: str) -> None:
        """Change an operand of this name, or an attribute, to what a part of a text says.

        Raises:
            ValueError: The text says anything else.
        """
        word, _, rest = part.partition(" ")
        if rest in ("left out", "given") or word == "no":
            removed = rest if word == "no" else name
            if rest != "given":
                self.attributes.pop(removed, None)
                self.operands |= {removed: None} if removed in self.operands else {}
        elif rest in ("an initializer", "a sparse_initializer", "an input"):
            self._store(rest, name)
        elif word == "to":
            self.attributes["to"] = next(n for n, t in TYPES.items() if t == rest)
        elif rest in list(ElementType) and word not in ("both", "all"):
            self.types[name] = ElementType(rest)
        elif (of_all := re.sub("^(both|all) ", "", part)) in list(ElementType):
            self.kind = ElementType(of_all)
        else:
            operands, attributes = read(part)
            self.attributes |= attributes
            for each in operands:
                fits = self.operands.get(name)
                if each.constant is not None:
                    self.operands[name] = each.constant
                elif not isinstance(fits, np.ndarray) or fits.shape != each.shape:
                    self.operands[name] = each.shape

    def _store(self, how: str, name: str) -> None:
        """Note that an operand is an initializer, an input or stored sparsely."""
        if not self.operands and "sparse" in how:
            self.attributes["sparse_value"] = self.attributes.pop("value")
            return
        if name not in self.operands or "sparse" in how:
            # Of a node with one operand the only one, of others the last.
            name = next(reversed([n for n, o in self.operands.items() if o is not None]), "")
        match how:
            case "an initializer":
                self.constants.add(name)
            case "an input":
                self.constants.discard(name)
            case _:
                self.constants.discard(name)
                self.sparse = name

    def applied(self, opset: int, generator: np.random.Generator, edition: Edition) -> Applied:
        """The node, with elements for operands that have a shape alone."""
        made = {n: self._elements(n, stated, generator) for n, stated in self.operands.items()}
        operands = [*made.values()]
        while operands and operands[-1] is None:
            operands.pop()
        attributes = {n: self._attribute(v, generator) for n, v in self.attributes.items()}
        return Applied(
            self.operator.name,
            operands,
            attributes,
            {"GRU": 2, "LSTM": 3, "Split": 3}.get(self.operator.name, 1),
            opset,
            edition,
            frozenset(n for n in self.constants if made.get(n) is not None),
            self.sparse,
            self.declared,
        )

    def _elements(self, name: str, stated: Any, generator: np.random.Generator) -> Array | None:
        """Elements that are stated, or random ones of a stated shape."""
        kind = self.types.get(name, self.kind)
        if name not in self.types and name in self.operator.operand_types:
            kind = ElementType(self.operator.operand_types[name])
        if isinstance(stated, tuple):
            return ordinary(generator, kind, stated)
        return None if stated is None else np.asarray(stated).astype(kind.dtype)

    def _attribute(self, value: Any, generator: np.random.Generator) -> Any:
        if not isinstance(value, set):
            return value
        (content,) = value
        if isinstance(content, tuple):
            return ordinary(generator, self.kind, content)
        return np.array([content], self.kind.dtype)
