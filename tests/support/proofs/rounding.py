"""What an emitted graph computes of two numbers of 16 bits, by way of wider ones, as a formula."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import bitwuzla
import onnx
import z3

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support.elementwise import Single
from support.proofs.guards import SPOKEN
from support.proofs.interpreter import interpret
from support.proofs.nodes import NAME, Guarded, Ranks
from support.proofs.tensors import operand
from support.proofs.terms import NEAREST, sort_of
from support.proofs.theorem import NotProved

Function = Callable[..., z3.FPRef]

DEFINED: Mapping[str, Function] = MappingProxyType(
    {
        "Add": lambda x, y: z3.fpAdd(NEAREST, x, y),
        "Div": lambda x, y: z3.fpDiv(NEAREST, x, y),
        "Mul": lambda x, y: z3.fpMul(NEAREST, x, y),
        "Reciprocal": lambda x: z3.fpDiv(NEAREST, _one_like(x), x),
        "Sqrt": lambda x: z3.fpSqrt(NEAREST, x),
        "Sub": lambda x, y: z3.fpSub(NEAREST, x, y),
    }
)
"""What each operator is defined to give: the result of IEEE 754, rounded once."""


def _one_like(x: z3.FPRef) -> z3.FPRef:
    return z3.FPVal(1, x.sort())


@dataclass(frozen=True)
class Rounding:
    """An operator in a type that the native backend computes in another.

    Attributes:
        operator: Its name.
        element_type: The type.
    """

    operator: str
    element_type: ElementType

    def __str__(self) -> str:
        """Say which."""
        return f"{self.operator} {self.element_type}"

    @cached_property
    def emitted(self) -> onnx.ModelProto:
        """What the native backend makes of a node of the operator."""
        return Guarded(Single(OPERATORS[self.operator], self.element_type), Ranks.EQUAL).emitted

    @property
    def numbers(self) -> tuple[z3.FPRef, ...]:
        """The numbers that it is given."""
        names = OPERATORS[self.operator].operands
        return tuple(z3.FP(name.lower(), sort_of(self.element_type)) for name in names)

    def claim(self, model: onnx.ModelProto | None = None) -> z3.BoolRef:
        """That the graph gives what the operator is defined to give.

        Args:
            model: The graph; what is emitted, by default.
        """
        model = model or self.emitted
        (result,) = model.graph.output
        names = OPERATORS[self.operator].operands
        operands = {n: operand(n, self.element_type, 1, sizes=(1,)).tensor for n in names}
        values, _ = interpret(model, operands)
        given = [operands[name].elements.at(z3.IntVal(0)) for name in names]
        computed = z3.substitute(
            values[result.name].elements.at(0), *zip(given, self.numbers, strict=True)
        )
        return computed == DEFINED[self.operator](*self.numbers)


def by_way_of(model: onnx.ModelProto, element_type: ElementType) -> onnx.ModelProto:
    """A graph that rounds what it computed to another type on its way."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    nodes = changed.graph.node
    place = next(i for i, node in enumerate(nodes) if node.name == NAME) + 1
    computed = nodes[place].input[0]
    numbers = [onnx.TensorProto.DataType.Value(kind.upper()) for kind in (element_type, "float")]
    names = [f"{computed}_narrow", f"{computed}_wide"]
    casts = [
        onnx.helper.make_node("Cast", [source], [name], to=number)
        for source, name, number in zip((computed, names[0]), names, numbers, strict=True)
    ]
    nodes[place].input[0] = names[1]
    for offset, cast in enumerate(casts):
        nodes.insert(place + offset, cast)
    return changed


def script(claim: z3.BoolRef) -> str:
    """A claim as a script that any solver reads: it is satisfiable if the claim is false."""
    solver = z3.Solver()
    solver.add(z3.Not(claim))
    return f"(set-logic QF_BVFP)\n{solver.to_smt2().replace('(check-sat)', '')}"


def counterexample(claim: z3.BoolRef, seconds: int = 600) -> dict[str, int] | None:
    """Find values for which a claim is false.

    Returns:
        The bits of each constant; None if the claim is true of all values.

    Raises:
        NotProved: That took too long.
    """
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    options.set(bitwuzla.Option.TIME_LIMIT_PER, seconds * 1000)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(script(claim), True, False)
    solver = parser.bitwuzla()
    match solver.check_sat():
        case bitwuzla.Result.UNSAT:
            return None
        case bitwuzla.Result.SAT:
            constants = parser.get_declared_funs()
            return {str(one): _bits(solver.get_value(one)) for one in constants}
    raise NotProved(f"not within {seconds} seconds")


def _bits(value: bitwuzla.Term) -> int:
    if value.sort().is_fp():
        return int(value.value(2, False), 2)
    return int(value.value(2), 2)


def digest(model: onnx.ModelProto) -> str:
    """What tells a graph from others; the names of guards, which people read, do not."""
    graph = onnx.GraphProto()
    graph.CopyFrom(model.graph)
    for node in graph.node:
        if SPOKEN in node.name:
            node.name = ""
    return hashlib.sha256(graph.SerializeToString(deterministic=True)).hexdigest()
