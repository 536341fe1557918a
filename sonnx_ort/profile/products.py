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
from sonnx_ort.profile.rule import Attributes, Illustration, Rule
from sonnx_ort.terms.language import All, Decided, Either, IfGiven, Number, Tensor, Term

_OPERANDS = ("A", "B", "C")
_A, _B, _C = map(Tensor, _OPERANDS)
_CORRECTED = ("A (2, 3), B (3, 4)", "A (2, 3), B (4, 4)", "correct the shapes")

_mat_mul = CommonRules("MatMul", 641, result="Y", one_shape=False, type_at="Signature")

MAT_MUL = _mat_mul.operator(
    rules=[
        _mat_mul("C1", 9, "Inputs, A, Constraints [C1]").states(
            "A and B are of rank 2.",
            of_rank(
                2,
                "A (2, 3), B (3, 4)",
                "A (5, 2, 3), B (3, 4)",
                "multiply each matrix of a batch separately, or fold the batch into rows with "
                "Reshape",
            ),
            remark="The draft states it of both inputs, also as R1; ONNX takes batches of "
            "matrices.",
        ),
        _mat_mul("C2", 10, "Inputs, A, Constraints [C2]").states(
            "A has as many columns as B has rows.",
            on_shapes(
                ("A", "B"),
                lambda _: Either((_A.size(-1) == _B.size(-2), _B.rank == 1)),
                *_CORRECTED,
                held=True,
            ),
            remark="The draft states it of both inputs.",
        ),
    ],
    description="""
        `MatMul`: the product of two matrices.

        Results: the sums of products in the operands' type, modulo 2^n for integers. The order in
        which floats are summed and the number of roundings depend on the implementation.

        ONNX Runtime 1.32.0 accepts tensors of any rank from 1 on. It silently broadcasts batches of
        matrices to each other, and takes a vector for a row or a column. It checks that A has as
        many columns as B has rows. Version 1.23 ends the process (SIGSEGV) at scalars whose rank is
        not declared, which this one rejects. It has no kernel for bfloat16, and ONNX allows no
        integers of 8 and 16 bits.
    """,
    versions=(1, 9, 13),
    rounds_once=False,
    oldest_kernels=1,
    elementwise=False,
)


_gemm = RulesOf("Gemm", 801, survived=True)
_TO_BE_CONFIRMED = 'The draft marks it "TBC".'


def _constant(offset: int, name: str, value: int, remedy: str) -> Rule:
    return _gemm(f"R2.{name}", offset, "Restrictions [R2]").states(
        f"The attribute {name} is {value}.",
        attribute_is(name, value, remedy),
        remark=f"{_TO_BE_CONFIRMED} It does not support the attribute, so its default is demanded, "
        "given or not.",
        unenforced="applies the attribute as ONNX defines it.",
    )


def _inner_sizes_agree(attributes: Attributes) -> Term:
    columns, rows = attributes.get("transA"), attributes.get("transB")
    return _A.size(0 if columns else 1) == _B.size(1 if rows else 0)


GEMM = _gemm.operator(
    Family.FLOAT,
    rules=[
        *_gemm.general(
            IEEE_TYPES,
            remark="The draft has a section for real numbers only; other drafts name these types.",
            sentence="Tensors A, B, C and Y have the same type: float16, float or double.",
        ),
        _gemm("R1", 2, "Restrictions [R1]").states(
            "A, B and C are of rank 2.",
            of_rank(
                2,
                "A (2, 3), B (3, 4), C (2, 4)",
                "A (3,), B (3, 4), C (1, 4)",
                "insert an axis of size 1 with Unsqueeze",
            ),
            remark=_TO_BE_CONFIRMED,
            unenforced="silently accepts a vector for A if its rank is not declared.",
        ),
        _constant(3, "alpha", 1, "multiply A with Mul"),
        _constant(4, "beta", 1, "multiply C with Mul"),
        _constant(5, "transA", 0, "transpose A with Transpose"),
        _constant(6, "transB", 0, "transpose B with Transpose"),
        _gemm("R4", 7, "Restrictions [R4]").states(
            "The input C is given.",
            required("C", "C given", "C left out", "use MatMul instead"),
            remark=_TO_BE_CONFIRMED,
            unenforced="gives the product without C.",
        ),
        _gemm("R3", 8, "Restrictions [R3]").states(
            "C has as many rows as A and as many columns as B.",
            on_shapes(
                _OPERANDS,
                lambda _: IfGiven(_C, _C.is_of_shape(_A.size(0), _B.size(1))),
                "A (2, 3), B (3, 4), C (2, 4)",
                "A (2, 3), B (3, 4), C (1, 4)",
                "broadcast C explicitly with Expand, or use MatMul and Add",
            ),
            remark=_TO_BE_CONFIRMED,
            unenforced="silently broadcasts C.",
        ),
        _gemm("shapes", 9, "Signature, Inputs and outputs, A").states(
            "A has as many columns as B has rows.",
            on_shapes(
                ("A", "B"),
                _inner_sizes_agree,
                *_CORRECTED,
                attributes=("transA", "transB"),
                held=True,
            ),
            remark="The draft gives the shapes of the inputs.",
        ),
    ],
    description="""
        `Gemm`: the product of two matrices, plus a third one.

        Results: the sums of products and the element of C, in the operands' type. The order of the
        sums and the number of roundings depend on the implementation.

        ONNX Runtime 1.32.0 has kernels for float16, float and double, of version 7 and newer ones.
        Each rule says what it does with a violation.
    """,
    operands=_OPERANDS,
    versions=(1, 6, 7, 9, 11, 13),
    optional=("C",),
    unsupported=("alpha", "beta", "transA", "transB"),
)


_lstm = RulesOf("LSTM", 821, survived=True)
_OPTIONAL = ("B", "sequence_lens", "initial_h", "initial_c", "P")
_OF_LSTM = ("X", "W", "R", *_OPTIONAL)
_RESTRICTIONS = "SONNX restrictions"
_EXPLICIT = "The draft wants it defined explicitly."
_INPUTS = "Signature, Inputs and outputs"
_UNCHECKED_SHAPES = (
    "rejects other shapes. Versions up to 1.28 accept any shape, reading beyond the elements, or "
    "end the process."
)
_X = Tensor("X")


def _admits_activations(value: Any) -> bool:
    both = isinstance(value, tuple) and len(value) == 6
    parts = [value[:3], value[3:]] if both else [value]
    return all(part in (("Sigmoid", "Tanh", "Tanh"), ("Relu", "Tanh", "Tanh")) for part in parts)


def _zero(name: str, offset: int, unenforced: str, since: int = 1) -> Rule:
    return _lstm(name, offset, _RESTRICTIONS).states(
        f"The attribute {name} is 0, and stands in the file.",
        attribute_is(name, 0, f"write the attribute {name}=0 into the file", given=True),
        remark=_EXPLICIT,
        unenforced=unenforced,
        since=since,
    )


def _given(name: str, offset: int) -> Rule:
    remark = "The draft wants a tensor of zeros, if it is not used."
    if name == "sequence_lens":
        remark += " For sequence_lens it says the batch size; the length of the sequences is meant."
    return _lstm(name, offset, _RESTRICTIONS).states(
        f"The input {name} is given.",
        required(name),
        remark=remark,
        unenforced="assumes the default of ONNX.",
    )


def _shapes(operands: tuple[str, ...], *example: str, held: bool = False) -> OnShapes:
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
    return on_shapes(operands, demand, *example, attributes=deciding, held=held)


LSTM = _lstm.operator(
    Family.FLOAT,
    rules=[
        *_lstm.general(
            FLOAT_TYPES,
            *(name for name in _OF_LSTM if name != "sequence_lens"),
            at="Signature",
            remark="The heading of the section on floats names the types.",
            sentence="All tensors have the same type, one of floats, but for sequence_lens.",
        ),
        _lstm("constant", 2, _RESTRICTIONS).states(
            "All inputs but X are constant.",
            ConstantOperands(
                Illustration("W an initializer", "W an input", "store the tensor as an initializer")
            ),
            *_OF_LSTM[1:],
            remark=_EXPLICIT,
            unenforced="silently accepts any input.",
        ),
        *(_given(name, 3 + number) for number, name in enumerate(_OPTIONAL)),
        _lstm("activations", 8, _RESTRICTIONS).states(
            "The activations of a direction are Sigmoid, Tanh, Tanh or Relu, Tanh, Tanh.",
            admitted(
                "activations",
                None,
                _admits_activations,
                'activations=["Sigmoid", "Tanh", "Tanh"]',
                'activations=["Tanh", "Tanh", "Tanh"]',
                "train the network with these activations",
                given=True,
                to_write="write the attribute activations into the file: without it ONNX computes "
                "Sigmoid, Tanh, Tanh, which the rule admits",
            ),
            remark=_EXPLICIT,
            unenforced="silently computes other activations too.",
        ),
        _zero("input_forget", 9, "silently couples the gates."),
        _zero("layout", 10, "rejects another layout.", since=14),
        _lstm("clip", 16).states(
            "The attribute clip is left out.",
            admitted(
                "clip",
                None,
                lambda _: False,
                *("clip left out", "clip=3.0", "train the network without clip"),
            ),
            remark="The draft describes it.",
            unenforced="does not clip the cell state before its activation, which the draft says.",
        ),
        _lstm("hidden_size", 18, "Signature, clip, hidden_size").states(
            "The attribute hidden_size is given, and positive.",
            admitted(
                "hidden_size",
                None,
                lambda size: size >= 1,
                *(
                    "hidden_size=3",
                    "hidden_size left out",
                    "write the attribute hidden_size into the file",
                ),
                given=True,
            ),
            remark="In ONNX it is optional, and has no default.",
            unenforced="rejects the model.",
            survived=False,
        ),
        _lstm("direction", 19, "Signature, clip, direction").states(
            "The attribute direction is forward, reverse or bidirectional.",
            admitted(
                "direction",
                "forward",
                lambda direction: direction in ("forward", "reverse", "bidirectional"),
                *('direction="forward"', 'direction="backward"', "name one of the three"),
            ),
            remark="The draft writes that it must be one of them.",
            unenforced="rejects the model.",
            survived=False,
        ),
        _lstm("X", 11, f"{_INPUTS}, X").states(
            "X is of rank 3.",
            of_rank(3, "X (5, 2, 4)", "X (5, 4)", "insert the axis of the batch"),
            "X",
            remark="The draft gives the shape of X.",
            unenforced="rejects other ranks. Versions up to 1.30 end the process at lower ones "
            "(SIGABRT).",
            survived=False,
        ),
        _lstm("W", 12, f"{_INPUTS}, W").states(
            "W has the shape that the direction, hidden_size and X demand.",
            _shapes(
                ("X", "W"),
                "X (5, 2, 4), W (1, 12, 4), hidden_size=3",
                "X (5, 2, 7), W (1, 12, 4), hidden_size=3",
                "correct the shapes",
            ),
            remark="The draft gives the shapes of X and W.",
            unenforced=_UNCHECKED_SHAPES,
            survived=False,
        ),
        _lstm("R", 13, f"{_INPUTS}, R").states(
            "R has the shape that the direction and hidden_size demand.",
            _shapes(
                ("R",),
                "R (1, 12, 3), hidden_size=3",
                "R (1, 9, 3), hidden_size=3",
                "correct the shape",
            ),
            remark="The draft gives the shape of R.",
            unenforced=_UNCHECKED_SHAPES,
            survived=False,
        ),
        _lstm("batch", 14).states(
            "The batch is not empty.",
            on_shapes(
                ("X",),
                lambda _: _X.size(1) >= 1,
                *("X (5, 1, 4)", "X (5, 0, 4)", "keep empty batches out"),
            ),
            remark="ONNX says nothing of it.",
            unenforced="ends the process at an empty batch (SIGABRT, or SIGSEGV if W is constant).",
            survived=False,
        ),
        _lstm("sequences", 17).states(
            "The sequences are not empty.",
            on_shapes(
                ("X",),
                lambda _: _X.size(0) >= 1,
                *("X (1, 2, 4)", "X (0, 2, 4)", "keep empty sequences out"),
            ),
            remark="ONNX says nothing of it.",
            unenforced="silently gives uninitialized memory for Y_c, and zeros for Y_h, whatever "
            "the initial states are.",
        ),
        _lstm("shapes", 15, f"{_INPUTS}, B").states(
            "The other inputs have the shapes that the direction, hidden_size and X demand.",
            _shapes(
                ("X", *_OPTIONAL),
                "X (5, 2, 4), initial_h (1, 2, 3), hidden_size=3",
                "X (5, 2, 4), initial_h (1, 1, 3), hidden_size=3",
                "correct the shape",
                held=True,
            ),
            remark="The draft gives the shape of each of them.",
        ),
    ],
    description="""
        `LSTM`: a layer of long short-term memory, in one or both directions.

        Results: the hidden state of each step, and the last hidden and cell state, in X's type. The
        order of sums and the accuracy of the activations depend on the implementation; the draft
        demands 1 ULP of activations. In its formula the output gate of peepholes reads the new cell
        state. It concatenates the directions along another axis than the shape of Y says; the shape
        of Y is followed.

        ONNX Runtime 1.32.0 has kernels for float16 and float; double fails in the run. Each rule
        says what it does with a violation.
    """,
    operands=_OF_LSTM,
    versions=(1, 7, 14, 22),
    operand_types={"sequence_lens": "int32"},
    optional=_OPTIONAL,
)
