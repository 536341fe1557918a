"""Models of one element-wise operator of the profile, of any arity and in every type it takes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule
from support.graphs import parse
from support.values import random_pairs, special_values

Array = npt.NDArray[Any]

OPSET = 21
REPEATED = 3
"""How many operands an operator has here that takes any number."""

WITHOUT_KERNEL = {
    "Acos": ("double",),
    **dict.fromkeys(("Max", "Min"), ("int16", "uint16")),
    "Neg": ("uint8", "uint16", "uint32", "uint64"),
    "Pow": ("int8", "int16", "uint8", "uint16", "uint32", "uint64"),
    "Where": ("int16", "uint16", "uint64"),
    "PRelu": ("double", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
}
"""The types, besides bfloat16, of which ONNX Runtime has no kernel."""

LATER_KERNELS = {"BitShift": (("int8", "int16", "int32", "int64", "uint16"), 28)}
"""The types of which there are kernels from a later version of an operator on alone, and which."""

NEWEST = 28 if tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 32) else 26
"""The newest version of the standard operators that both packages know, as far as it matters."""
NEWEST = min(NEWEST, onnx.defs.onnx_opset_version())

ATTRIBUTES: Mapping[tuple[str, Family], Mapping[str, int | str]] = {
    **{("Cast", family): {"to": 6} for family in Family},
    ("BitShift", Family.INTEGER): {"direction": "LEFT"},
    ("Mod", Family.FLOAT): {"fmod": 1},
}
"""What operators cannot do without, by the family of their operands' types."""


def written(attributes: Mapping[str, object]) -> str:
    """Attributes of a node as ONNX's textual syntax has them; nothing where there are none."""
    texts = [f'"{v}"' if isinstance(v, str) else str(v) for v in attributes.values()]
    given = ", ".join(f"{n} = {text}" for n, text in zip(attributes, texts, strict=True))
    return f"<{given}>" if given else ""


@dataclass(frozen=True)
class Single:
    """One operator in one type.

    Attributes:
        operator: The operator.
        element_type: The type of the operands that have no type of their own.
        repeated: How many operands it has, if it takes any number.
        said: Attributes of the node, besides the usual ones or in their place.
    """

    operator: Operator
    element_type: ElementType
    repeated: int = REPEATED
    said: tuple[tuple[str, int | str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its operands."""
        return self.operator.operand_names(self.repeated)

    @property
    def attributes(self) -> Mapping[str, int | str]:
        """The attributes of the node of the model."""
        usual = ATTRIBUTES.get((self.operator.name, self.element_type.family), {})
        return {**usual, **dict(self.said)}

    @property
    def opset(self) -> int:
        """The version of the standard operators in which there is a kernel of it."""
        types, version = LATER_KERNELS.get(self.operator.name, ((), OPSET))
        return version if self.element_type in types else OPSET

    def types(self) -> tuple[ElementType, ...]:
        """The type of each operand."""
        own = self.operator.operand_types
        return tuple(ElementType(own.get(name, self.element_type)) for name in self.names)

    def rules(self) -> tuple[Rule, ...]:
        """The rules of the typed edition, as they bind the node of the model."""
        rules = self.operator.rules(Edition.TYPED, self.element_type.family)
        (node,) = self.model().graph.node
        values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        return tuple(rule.of_node(values) for rule in rules)

    def model(
        self,
        ranks: Sequence[int] | None = None,
        *,
        constants: Mapping[str, Array] | None = None,
        opset: int | None = None,
    ) -> onnx.ModelProto:
        """A model of a node of the operator, whose inputs have unknown sizes.

        Args:
            ranks: The ranks of the inputs, 0 for one that is open; 1 for each by default.
            constants: Those of the operands that are initializers.
            opset: The version of the standard operators; one with a kernel by default.
        """
        inputs = ", ".join(
            f"{kind}[{','.join(f'{name}{axis}' for axis in range(rank))}] {name}"
            for name, kind, rank in zip(
                self.names, self.types(), ranks or [1] * len(self.names), strict=True
            )
            if name not in (constants or {})
        )
        own = self.operator.result_type
        result = own or self.element_type
        if own == OF_THE_NODE:
            result = onnx.TensorProto.DataType.Name(int(self.attributes["to"])).lower()
        called = f"{self.operator.name}{written(self.attributes)}"
        node = f"[the_node] y = {called}({', '.join(self.names)})"
        text = f"({inputs}) => ({result}[] y) {{ {node} }}"
        return parse(text, opset=opset or self.opset, constants=constants)

    def operands(self, size: int, seed: int) -> dict[str, Array]:
        """Operands of one shape: special values, and any bit patterns.

        Args:
            size: How many elements each has.
            seed: Decides which.
        """
        generator = np.random.default_rng(seed)
        feeds = {}
        for name, kind in zip(self.names, self.types(), strict=True):
            if kind is ElementType.BOOL:
                feeds[name] = generator.random(size) < 0.5
                continue
            special = generator.choice(special_values(kind).view(f"u{kind.dtype.itemsize}"), size)
            anything, _ = random_pairs(kind, size)
            anything = generator.permutation(anything.view(special.dtype))
            chosen = np.where(generator.random(size) < 0.5, special, anything)
            feeds[name] = chosen.view(kind.dtype)
        return feeds

    def __str__(self) -> str:
        """Give operator and type: `Add float`, `Mod <fmod = 0> float`."""
        called = f"{self.operator.name} {written(dict(self.said))}".strip()
        return f"{called} {self.element_type}"


def singles(families: Sequence[Family] = tuple(Family)) -> Iterator[Single]:
    """Every element-wise operator of the profile in every type that ONNX Runtime computes it in.

    Args:
        families: Only of types of these.
    """
    for name in sorted(STANDARD_OPERATORS):
        operator = OPERATORS[name]
        if not operator.elementwise:
            continue
        for kind in ElementType:
            taken = kind.family in operator.families and kind.family in families
            missing = kind in WITHOUT_KERNEL.get(name, ())
            unrounded = kind is ElementType.BFLOAT16 and not operator.rounds_once
            single = Single(operator, kind)
            if taken and not missing and not unrounded and single.opset <= NEWEST:
                yield single
