"""MatMul, Gemm and LSTM."""

from typing import Any

from sonnx_ort.profile.common_rules import CommonRules, RulesOf
from sonnx_ort.profile.element_type import FLOAT_TYPES, IEEE_TYPES, Family
from sonnx_ort.profile.requirements.attributes import (
    ConstantOperands,
    admitted,
    attribute_is,
    required,
)
from sonnx_ort.profile.requirements.shapes import OnShapes, of_rank, on_shapes
from sonnx_ort.profile.rule import Attributes, Rule
from sonnx_ort.terms.language import All, Decided, Either, IfGiven, Number, Tensor, Term

_OPERANDS = ("A", "B", "C")
_A, _B, _C = map(Tensor, _OPERANDS)

_mat_mul = CommonRules("MatMul", 641, result="Y", one_shape=False)

MAT_MUL = _mat_mul.operator(
    rules=[
        _mat_mul("C1", 9).states(of_rank(2)),
        _mat_mul("C2", 10).states(
            on_shapes(
                ("A", "B"), lambda _: Either((_A.size(-1) == _B.size(-2), _B.rank == 1)), held=True
            )
        ),
    ],
    versions=(1, 9, 13),
    rounds_once=False,
    oldest_kernels=1,
    elementwise=False,
)


_gemm = RulesOf("Gemm", 801, survived=True)


def _constant(offset: int, name: str, value: int) -> Rule:
    return _gemm(f"R2.{name}", offset).states(attribute_is(name, value))


def _inner_sizes_agree(attributes: Attributes) -> Term:
    columns, rows = attributes.get("transA"), attributes.get("transB")
    return _A.size(0 if columns else 1) == _B.size(1 if rows else 0)


GEMM = _gemm.operator(
    Family.FLOAT,
    rules=[
        *_gemm.general(IEEE_TYPES),
        _gemm("R1", 2).states(of_rank(2)),
        _constant(3, "alpha", 1),
        _constant(4, "beta", 1),
        _constant(5, "transA", 0),
        _constant(6, "transB", 0),
        _gemm("R4", 7).states(required("C")),
        _gemm("R3", 8).states(
            on_shapes(_OPERANDS, lambda _: IfGiven(_C, _C.is_of_shape(_A.size(0), _B.size(1))))
        ),
        _gemm("shapes", 9).states(
            on_shapes(("A", "B"), _inner_sizes_agree, attributes=("transA", "transB"), held=True)
        ),
    ],
    operands=_OPERANDS,
    versions=(1, 6, 7, 9, 11, 13),
    optional=("C",),
    unsupported=("alpha", "beta", "transA", "transB"),
)


_lstm = RulesOf("LSTM", 821, survived=True)
_OPTIONAL = ("B", "sequence_lens", "initial_h", "initial_c", "P")
_OF_LSTM = ("X", "W", "R", *_OPTIONAL)
_X = Tensor("X")


def _admits_activations(value: Any) -> bool:
    both = isinstance(value, tuple) and len(value) == 6
    parts = [value[:3], value[3:]] if both else [value]
    return all(part in (("Sigmoid", "Tanh", "Tanh"), ("Relu", "Tanh", "Tanh")) for part in parts)


def _zero(name: str, offset: int, since: int = 1) -> Rule:
    return _lstm(name, offset).states(attribute_is(name, 0, given=True), since=since)


def _input_is_given(name: str, offset: int) -> Rule:
    """The rule of LSTM that an input is not left out."""
    return _lstm(name, offset).states(required(name))


def _shapes(operands: tuple[str, ...], *, held: bool = False) -> OnShapes:
    """The demand that operands but X have the shapes that the direction and hidden_size give."""

    def demand(attributes: Attributes) -> Term:
        directions = 2 if attributes.get("direction") == "bidirectional" else 1
        hidden = attributes.get("hidden_size")
        if not isinstance(hidden, int):
            return Decided(True, "the attribute hidden_size is no number")
        state = (directions, _X.size(1), hidden)
        shapes: dict[str, tuple[int | Number, ...]] = {
            "W": (directions, 4 * hidden, _X.size(2)),
            "R": (directions, 4 * hidden, hidden),
            "B": (directions, 8 * hidden),
            "sequence_lens": (_X.size(1),),
            "initial_h": state,
            "initial_c": state,
            "P": (directions, 3 * hidden),
        }
        of_shape = {n: Tensor(n).is_of_shape(*shapes[n]) for n in operands if n != "X"}
        if len(of_shape) == 1:
            return next(iter(of_shape.values()))
        return All(tuple(IfGiven(Tensor(name), term) for name, term in of_shape.items()))

    deciding = ("hidden_size", "direction")
    return on_shapes(operands, demand, attributes=deciding, held=held)


LSTM = _lstm.operator(
    Family.FLOAT,
    rules=[
        *_lstm.general(FLOAT_TYPES, *(name for name in _OF_LSTM if name != "sequence_lens")),
        _lstm("constant", 2).states(ConstantOperands(), *_OF_LSTM[1:]),
        *(_input_is_given(name, 3 + number) for number, name in enumerate(_OPTIONAL)),
        _lstm("activations", 8).states(
            admitted("activations", None, _admits_activations, given=True)
        ),
        _zero("input_forget", 9),
        _zero("layout", 10, since=14),
        _lstm("clip", 16).states(admitted("clip", None, lambda _: False)),
        _lstm("hidden_size", 18).states(
            admitted("hidden_size", None, lambda size: size >= 1, given=True), survived=False
        ),
        _lstm("direction", 19).states(
            admitted(
                "direction",
                "forward",
                lambda direction: direction in ("forward", "reverse", "bidirectional"),
            ),
            survived=False,
        ),
        _lstm("X", 11).states(of_rank(3), "X", survived=False),
        _lstm("W", 12).states(_shapes(("X", "W")), survived=False),
        _lstm("R", 13).states(_shapes(("R",)), survived=False),
        _lstm("batch", 14).states(on_shapes(("X",), lambda _: _X.size(1) >= 1), survived=False),
        _lstm("sequences", 17).states(on_shapes(("X",), lambda _: _X.size(0) >= 1)),
        _lstm("shapes", 15).states(_shapes(("X", *_OPTIONAL), held=True)),
    ],
    operands=_OF_LSTM,
    versions=(1, 7, 14, 22),
    operand_types={"sequence_lens": "int32"},
    optional=_OPTIONAL,
)
