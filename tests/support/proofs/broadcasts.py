"""Nodes whose operands the native backend brings to a common shape, and the operator Broadcast."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import onnx
import z3

import sonnx_ort
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.broadcasting import Broadcastable
from support.graphs import parse
from support.proofs.agreement import Array
from support.proofs.guards import reaching
from support.proofs.interpreter import Values
from support.proofs.rules import common_size, demanded, longest
from support.proofs.run import Run
from support.proofs.tensors import Length, Operand, Tensor, Vector, for_all, operand, term
from support.proofs.theorem import Claim, Question

NAME = "the_node"
SIZES_AT_MOST = 3
WITHIN_INT32 = 1 << 31


@dataclass(frozen=True)
class Broadcasting:
    """A model of one node in front of which operands are expanded.

    Attributes:
        inputs: The inputs, as text.
        node: The operator and its inputs, as text.
        opset: The version of the standard operators.
        within_int32: Whether no size is beyond int32: ONNX Runtime finds the larger of two sizes
            wrongly there.
    """

    inputs: str
    node: str
    opset: int = 17
    within_int32: bool = False

    def __str__(self) -> str:
        """Say which."""
        return f"{self.node} of {self.inputs}"

    @cached_property
    def original(self) -> onnx.ModelProto:
        """The model before it is rewritten."""
        outputs = ["y"]
        if self.node.startswith("sonnx."):
            outputs = [f"Z{number}" for number in range(self.node.count(",") + 1)]
        kind = re.split(r"[\[ ]", self.inputs.split(", ")[-1], maxsplit=1)[0]
        declared = ", ".join(f"{kind}[] {name}" for name in outputs)
        text = f"({self.inputs}) => ({declared}) {{ [{NAME}] {', '.join(outputs)} = {self.node} }}"
        return parse(text, opset=self.opset, domains={"sonnx": 1})

    @cached_property
    def emitted(self) -> onnx.ModelProto:
        """What the native backend makes of it."""
        return sonnx_ort.rewrite(
            self.original, backend="native", broadcast="explicit", operators="all,-Graph"
        )

    def questions(self) -> tuple[Question, Question]:
        """That operands pass exactly if they have a common shape; and that they then have it."""
        operands = [self.operand(declared, None) for declared in self.emitted.graph.input]
        passing = self._question(self.emitted, operands, [])
        return passing, passing.about(self._common(self.emitted, operands))

    def small_shapes(self, model: onnx.ModelProto) -> Iterator[Question]:
        """The same of small shapes, of a model in which something is wrong."""
        inputs = model.graph.input
        ranks = [range(4) if known_rank(each) is None else (None,) for each in inputs]
        for chosen in product(*ranks):
            pairs = zip(inputs, chosen, strict=True)
            operands = [self.operand(declared, rank) for declared, rank in pairs]
            small = [
                each.tensor.sizes.for_all(lambda i, t=each.tensor: t.sizes.at(i) <= SIZES_AT_MOST)
                for each in operands
            ]
            yield self._question(model, operands, small)

    def fits(self, feeds: Mapping[str, Array]) -> bool:
        """Whether arrays have a common shape, by the profile's own decision."""
        return Broadcastable().violation(list(feeds.values())) is None

    def kept(self, tensors: Sequence[Tensor]) -> z3.BoolRef:
        """Whether operands pass, as a formula."""
        return demanded(Broadcastable(), tensors)

    def operand(self, declared: onnx.ValueInfoProto, rank: int | None) -> Operand:
        """An operand of what the model declares.

        Args:
            declared: The input.
            rank: Its rank, where the model does not tell it; None for any.
        """
        number = declared.type.tensor_type.elem_type
        kind = ElementType(onnx.TensorProto.DataType.Name(number).lower())
        known = known_rank(declared)
        if known is None:
            of_any: Length = z3.Int(f"{declared.name}.rank") if rank is None else rank
            return operand(declared.name, kind, of_any, backwards=True)
        sizes = [
            d.dim_value if d.HasField("dim_value") else None
            for d in declared.type.tensor_type.shape.dim
        ]
        return operand(declared.name, kind, known, sizes=sizes)

    def _question(
        self, model: onnx.ModelProto, operands: Sequence[Operand], known: Sequence[z3.BoolRef]
    ) -> Question:
        tensors = [each.tensor for each in operands]
        limits = [
            t.sizes.for_all(lambda i, s=t.sizes: s.at(i) < WITHIN_INT32)
            for t in tensors
            if self.within_int32
        ]

        def passing(_: Values, run: Run) -> z3.BoolRef:
            return run.passes == self.kept(tensors)

        return Question(model, operands, frozenset({NAME}), passing, [*known, *limits])

    @staticmethod
    def _common(model: onnx.ModelProto, operands: Sequence[Operand]) -> Claim:
        shapes = [each.tensor.sizes for each in operands]

        def common(values: Values, run: Run) -> z3.BoolRef:
            read = [values[name] for name in reaching(model, {NAME})]
            return z3.Implies(run.passes, z3.And([has_common_shape(t, shapes) for t in read]))

        return common


def has_common_shape(tensor: Tensor, shapes: Sequence[Vector]) -> z3.BoolRef:
    """Whether a tensor has the common shape of shapes."""
    rank = longest([shape.length for shape in shapes])

    def same(from_the_end: int | z3.ArithRef) -> z3.BoolRef:
        own = tensor.sizes.aligned_at(from_the_end, 1)
        return own == common_size(shapes, from_the_end)

    return z3.And(term(tensor.rank) == term(rank), for_all(rank, same))


def known_rank(declared: onnx.ValueInfoProto) -> int | None:
    """The rank that is sure: for a scalar ONNX Runtime takes tensors of any rank."""
    return len(declared.type.tensor_type.shape.dim) or None
