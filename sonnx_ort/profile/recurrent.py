"""LSTM."""

from typing import Any

from sonnx_ort.profile.common_rules import of_families
from sonnx_ort.profile.element_type import FLOAT_TYPES, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.attributes import (
    AdmittedAttribute,
    ConstantOperands,
    RequiredInput,
    SameNumericType,
)
from sonnx_ort.profile.requirements.shapes import OnShapes, of_rank
from sonnx_ort.profile.rule import Attributes, Illustration, Rule
from sonnx_ort.profile.source import Standing
from sonnx_ort.profile.windows import DraftRules
from sonnx_ort.terms.language import All, Decided, IfGiven, Number, Tensor, Term

_RULES = DraftRules("LSTM", 821)
_OPTIONAL = ("B", "sequence_lens", "initial_h", "initial_c", "P")
_OPERANDS = ("X", "W", "R", *_OPTIONAL)
_FLOATS = tuple(name for name in _OPERANDS if name != "sequence_lens")
_GATES = (("Sigmoid", "Tanh", "Tanh"), ("Relu", "Tanh", "Tanh"))
_DECIDING = ("hidden_size", "direction")
_DIRECTIONS = ("forward", "reverse", "bidirectional")
_RESTRICTIONS = "SONNX restrictions"
_EXPLICIT = "The draft wants it defined explicitly."
_INPUTS = "Signature, Inputs and outputs"
_X, _W, _R = Tensor("X"), Tensor("W"), Tensor("R")


def _admits_activations(value: Any) -> bool:
    both = isinstance(value, tuple) and len(value) == 6
    parts = [value[:3], value[3:]] if both else [value]
    return all(part in _GATES for part in parts)


def _demanded(name: str, offset: int, unenforced: str, since: int = 1) -> Rule:
    example = Illustration(f"{name}=0", f"{name}=1", f"write {name}=0 down")
    return _RULES.rule(
        name,
        offset,
        f"The attribute {name} is 0, and stands in the file.",
        AdmittedAttribute((name,), 0, lambda given: given == 0, example, given=True),
        at=_RESTRICTIONS,
        remark=_EXPLICIT,
        unenforced=unenforced,
        since=since,
    )


def _given(name: str, offset: int) -> Rule:
    example = Illustration(f"{name} given", f"{name} left out", f"give {name} as an input")
    remark = "The draft wants a tensor of zeros, if it is not used."
    if name == "sequence_lens":
        remark += " For sequence_lens it says the batch size; the length of the sequences is meant."
    sentence = f"The input {name} is given."
    return _RULES.rule(
        name,
        offset,
        sentence,
        RequiredInput(name, example),
        name,
        at=_RESTRICTIONS,
        remark=remark,
        unenforced="assumes the default of ONNX.",
    )


def _directions(attributes: Attributes) -> int:
    return 2 if attributes.get("direction") == "bidirectional" else 1


def _shape_of_w(attributes: Attributes) -> Term:
    directions, hidden = _directions(attributes), attributes.get("hidden_size")
    if not isinstance(hidden, int):
        return _NO_STATE
    return _W.is_of_shape(directions, 4 * hidden, _X.size(2))


def _shape_of_r(attributes: Attributes) -> Term:
    directions, hidden = _directions(attributes), attributes.get("hidden_size")
    if not isinstance(hidden, int):
        return _NO_STATE
    return _R.is_of_shape(directions, 4 * hidden, hidden)


_NO_STATE = Decided(True, "the attribute hidden_size is no number")


def _others_fit(attributes: Attributes) -> Term:
    """The shapes of the operands that ONNX Runtime checks itself."""
    directions, hidden = _directions(attributes), attributes.get("hidden_size")
    if not isinstance(hidden, int):
        return _NO_STATE
    state = (directions, _X.size(1), hidden)
    shapes: dict[str, tuple[int | Number, ...]] = {
        "B": (directions, 8 * hidden),
        "sequence_lens": (_X.size(1),),
        "initial_h": state,
        "initial_c": state,
        "P": (directions, 3 * hidden),
    }
    others = {Tensor(name): shape for name, shape in shapes.items()}
    return All(tuple(IfGiven(other, other.is_of_shape(*shape)) for other, shape in others.items()))


_CONTRACT = (
    _RULES.rule(
        "types",
        0,
        "All tensors have the same type, one of floats, but for sequence_lens.",
        SameNumericType(None, FLOAT_TYPES),
        *_FLOATS,
        at="Signature",
        remark="The heading of the section on floats names the types.",
        survived=False,
    ),
    _RULES.dense(1),
    _RULES.rule(
        "constant",
        2,
        "All inputs but X are constant.",
        ConstantOperands(
            Illustration("W an initializer", "W an input", "store the tensor as an initializer")
        ),
        *_OPERANDS[1:],
        at=_RESTRICTIONS,
        remark=_EXPLICIT,
        unenforced="silently accepts any input.",
    ),
    *(_given(name, 3 + number) for number, name in enumerate(_OPTIONAL)),
    _RULES.rule(
        "activations",
        8,
        "The activations of a direction are Sigmoid, Tanh, Tanh or Relu, Tanh, Tanh.",
        AdmittedAttribute(
            ("activations",),
            None,
            _admits_activations,
            Illustration(
                'activations=["Sigmoid", "Tanh", "Tanh"]',
                'activations=["Tanh", "Tanh", "Tanh"]',
                "train the network with these activations, and write them down",
            ),
            given=True,
        ),
        at=_RESTRICTIONS,
        remark=_EXPLICIT,
        unenforced="silently computes other activations too.",
    ),
    _demanded("input_forget", 9, "silently couples the gates."),
    _demanded("layout", 10, "rejects another layout.", since=14),
    _RULES.rule(
        "clip",
        16,
        "The attribute clip is left out.",
        AdmittedAttribute(
            ("clip",),
            None,
            lambda _: False,
            Illustration("clip left out", "clip=3.0", "train the network without clip"),
        ),
        remark="The draft describes it.",
        unenforced="does not clip the cell state before its activation, which the draft says.",
        standing=Standing.OWN,
    ),
    _RULES.rule(
        "hidden_size",
        18,
        "The attribute hidden_size is given, and positive.",
        AdmittedAttribute(
            ("hidden_size",),
            None,
            lambda size: size >= 1,
            Illustration("hidden_size=3", "hidden_size left out", "write the size down"),
            given=True,
        ),
        at="Signature, clip, hidden_size",
        remark="In ONNX it is optional, and has no default.",
        unenforced="rejects the model.",
        survived=False,
    ),
    _RULES.rule(
        "direction",
        19,
        "The attribute direction is forward, reverse or bidirectional.",
        AdmittedAttribute(
            ("direction",),
            "forward",
            lambda said: said in _DIRECTIONS,
            Illustration('direction="forward"', 'direction="backward"', "name one of the three"),
        ),
        at="Signature, clip, direction",
        remark="The draft writes that it must be one of them.",
        unenforced="rejects the model.",
        survived=False,
    ),
    _RULES.rule(
        "X",
        11,
        "X is of rank 3.",
        of_rank(3, Illustration("X (5, 2, 4)", "X (5, 4)", "insert the axis of the batch")),
        "X",
        at=f"{_INPUTS}, X",
        remark="The draft gives the shape of X.",
        unenforced="rejects other ranks. Versions up to 1.30 end the process at lower ones "
        "(SIGABRT).",
        survived=False,
    ),
    _RULES.rule(
        "W",
        12,
        "W has the shape that the direction, hidden_size and X demand.",
        OnShapes(
            ("X", "W"),
            _shape_of_w,
            Illustration(
                "X (5, 2, 4), W (1, 12, 4), hidden_size=3",
                "X (5, 2, 7), W (1, 12, 4), hidden_size=3",
                "correct the shapes",
            ),
            _DECIDING,
        ),
        "X",
        "W",
        at=f"{_INPUTS}, W",
        remark="The draft gives the shapes of X and W.",
        unenforced="rejects other shapes. Versions up to 1.28 accept any shape, reading beyond the "
        "elements, or end the process.",
        survived=False,
    ),
    _RULES.rule(
        "R",
        13,
        "R has the shape that the direction and hidden_size demand.",
        OnShapes(
            ("R",),
            _shape_of_r,
            Illustration(
                "R (1, 12, 3), hidden_size=3", "R (1, 9, 3), hidden_size=3", "correct the shape"
            ),
            _DECIDING,
        ),
        "R",
        at=f"{_INPUTS}, R",
        remark="The draft gives the shape of R.",
        unenforced="rejects other shapes. Versions up to 1.28 accept any shape, reading beyond the "
        "elements, or end the process.",
        survived=False,
    ),
    _RULES.rule(
        "batch",
        14,
        "The batch is not empty.",
        OnShapes(
            ("X",),
            lambda _: _X.size(1) >= 1,
            Illustration("X (5, 1, 4)", "X (5, 0, 4)", "keep empty batches out"),
        ),
        "X",
        remark="ONNX says nothing of it.",
        unenforced="ends the process at an empty batch (SIGABRT, or SIGSEGV if W is constant).",
        survived=False,
        standing=Standing.OWN,
    ),
    _RULES.rule(
        "sequences",
        17,
        "The sequences are not empty.",
        OnShapes(
            ("X",),
            lambda _: _X.size(0) >= 1,
            Illustration("X (1, 2, 4)", "X (0, 2, 4)", "keep empty sequences out"),
        ),
        "X",
        remark="ONNX says nothing of it.",
        unenforced="silently gives uninitialized memory for Y_c, and zeros for Y_h, whatever the "
        "initial states are.",
        standing=Standing.OWN,
    ),
    _RULES.rule(
        "shapes",
        15,
        "The other inputs have the shapes that the direction, hidden_size and X demand.",
        OnShapes(
            ("X", *_OPTIONAL),
            _others_fit,
            Illustration(
                "X (5, 2, 4), initial_h (1, 2, 3), hidden_size=3",
                "X (5, 2, 4), initial_h (1, 1, 3), hidden_size=3",
                "correct the shape",
            ),
            _DECIDING,
            held=True,
        ),
        "X",
        *_OPTIONAL,
        at=f"{_INPUTS}, B",
        remark="The draft gives the shape of each of them.",
    ),
)

LSTM = Operator(
    name="LSTM",
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
    operands=_OPERANDS,
    versions=(1, 7, 14, 22),
    contracts=of_families({Family.FLOAT: _CONTRACT}),
    operand_types={"sequence_lens": "int32"},
    result="Y",
    rounds_once=False,
    optional=_OPTIONAL,
    elementwise=False,
    by_shape=_OPERANDS,
)
