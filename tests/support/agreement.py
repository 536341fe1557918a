"""Random models and feeds on which all backends must do the same.

To be run in a child process: an integer division that no guard stops can end it.
`python -m support.agreement PROVIDER OPERATOR SEED DECLARATIONS` compares the native backend on an
execution provider with the python backend on the CPU, and prints what it found as one line of JSON.
"""

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family
from sonnx_ort.vectors.applied import special_values
from support.broadcasting import Outcome, assert_identical, broadcast_model, run
from support.graphs import Dimensions, binary_model
from support.plain_runs.run import Failure, failure_in
from support.sessions import quiet
from support.values import assert_same_bits, bits_dtype

Array = npt.NDArray[Any]
Sizes = tuple[int, ...]

NEWEST_OPSET = 23
FEEDS_PER_DECLARATION = 24
MAX_RANK = 5
_SIZES = (0, 1, 1, 2, 3)
_OLDEST_OPSET = {
    ElementType.BFLOAT16: 13,
    **dict.fromkeys(
        (ElementType.INT8, ElementType.INT16, ElementType.UINT8, ElementType.UINT16), 14
    ),
}


@dataclass(frozen=True, slots=True)
class Declaration:
    """A model of one node, by what it declares.

    Attributes:
        operator: "Div", "Sub" or "Broadcast", the model's own.
        element_types: The types of the inputs.
        shapes: Their declared shapes.
        edition: The edition of the profile.
        broadcast: What becomes of operands of different shapes.
        opset: The version of the standard operators.
    """

    operator: str
    element_types: tuple[ElementType, ...]
    shapes: tuple[Dimensions, ...]
    edition: str
    broadcast: str
    opset: int

    def model(self) -> onnx.ModelProto:
        """The model, not rewritten."""
        if self.operator == "Broadcast":
            return broadcast_model(self.element_types, self.shapes, opset=self.opset)
        return binary_model(self.operator, self.element_types[0], *self.shapes, opset=self.opset)

    def session(
        self, backend: Backend, options: ort.SessionOptions | None = None, **choices: Any
    ) -> sonnx_ort.InferenceSession | sonnx_ort.ModelRejected:
        """The rewritten model, ready to run; what rejects it if it cannot keep its rules."""
        choices |= {"edition": self.edition, "broadcast": self.broadcast, "backend": backend}
        try:
            return sonnx_ort.InferenceSession(self.model(), options or quiet(), **choices)
        except sonnx_ort.ModelRejected as rejected:
            return rejected


class RandomCases:
    """Declarations and feeds, the same for the same seed."""

    def __init__(self, operator: str, seed: int) -> None:
        """Start the sequence of an operator and a seed, which decide everything."""
        self._operator = operator
        self._random = np.random.default_rng([seed, *operator.encode()])

    def declaration(self) -> Declaration:
        """A declaration, and with it the shapes that its static sizes stand for."""
        arity = int(self._random.integers(1, 5)) if self._operator == "Broadcast" else 2
        types = [self._one_of(list(NUMERIC_TYPES)) for _ in range(arity)]
        if self._operator != "Broadcast":
            types = types[:1] * 2
        oldest = max(_OLDEST_OPSET.get(element_type, 7) for element_type in types)
        return Declaration(
            operator=self._operator,
            element_types=tuple(types),
            shapes=tuple(self._declared(shape) for shape in self._shapes(arity)),
            edition=self._one_of(["typed", "preliminary"]),
            broadcast=self._one_of(["reject", "explicit"]),
            opset=int(self._random.integers(oldest, NEWEST_OPSET + 1)),
        )

    def feeds(self, declaration: Declaration) -> dict[str, Array]:
        """Tensors that ONNX Runtime accepts for a declaration."""
        shapes = self._shapes_for(declaration.shapes)
        harmless = bool(self._random.integers(0, 2))
        names = [f"x{index}" for index in range(len(shapes))]
        if declaration.operator != "Broadcast":
            names = ["A", "B"]
        return {
            name: self._tensor(element_type, shape, harmless=harmless and name == "B")
            for name, element_type, shape in zip(
                names, declaration.element_types, shapes, strict=True
            )
        }

    def _one_of(self, choices: Sequence[Any]) -> Any:
        return choices[int(self._random.integers(len(choices)))]

    def _shape(self, rank: int) -> Sizes:
        return tuple(self._one_of(_SIZES) for _ in range(rank))

    def _shapes(self, count: int) -> list[Sizes]:
        """Equal shapes, shapes that can be broadcast, or any."""
        first = self._shape(int(self._random.integers(0, MAX_RANK + 1)))
        return [first, *(self._relative(first) for _ in range(count - 1))]

    def _relative(self, shape: Sizes) -> Sizes:
        match self._random.integers(0, 5):
            case 0:
                return self._shape(int(self._random.integers(0, MAX_RANK + 1)))
            case 1:
                kept = shape[int(self._random.integers(0, len(shape) + 1)) :]
                return tuple(size if self._random.integers(0, 2) else 1 for size in kept)
            case _:
                return shape

    def _declared(self, shape: Sizes) -> Dimensions:
        if self._random.integers(0, 5) == 0:
            return None
        forms = [lambda size: size, lambda _: None, lambda _: self._one_of("nmnk")]
        if self._random.integers(0, 3):
            form = self._one_of(forms)
            return [form(size) for size in shape]
        return [self._one_of(forms)(size) for size in shape]

    def _shapes_for(self, declared: Sequence[Dimensions]) -> list[Sizes]:
        """Shapes that fit; mostly one size for one symbol, and one shape for all."""
        symbols = {symbol: self._one_of(_SIZES) for symbol in "nmk"}
        if self._random.integers(0, 2):
            symbols = dict.fromkeys(symbols, self._one_of(_SIZES))
        wild = self._random.integers(0, 4) == 0
        model_shape: Sizes | None = None
        shapes: list[Sizes] = []
        for dimensions in declared:
            shape = self._fitting(dimensions, model_shape, symbols, wild=bool(wild))
            model_shape = model_shape if model_shape is not None else shape
            shapes.append(shape)
        return shapes

    def _fitting(
        self, declared: Dimensions, other: Sizes | None, symbols: Mapping[str, int], *, wild: bool
    ) -> Sizes:
        # ONNX Runtime takes tensors of any rank for an input that is declared as a scalar.
        if declared is None or (wild and len(declared) == 0):
            if other is None:
                return self._shape(int(self._random.integers(0, MAX_RANK + 1)))
            return self._relative(other)
        padded = (1,) * max(0, len(declared) - len(other or ())) + tuple(other or ())
        shape = []
        for dimension, beside in zip(declared, padded[len(padded) - len(declared) :], strict=True):
            match dimension:
                case int():
                    shape.append(dimension)
                case _ if wild and self._random.integers(0, 2):
                    shape.append(self._one_of(_SIZES))
                case str():
                    shape.append(symbols[dimension])
                case _:
                    shape.append(beside)
        return tuple(shape)

    def _tensor(self, element_type: ElementType, shape: Sizes, *, harmless: bool) -> Array:
        """Special values and any bits; if harmless, only divisors that every integer has."""
        size = int(np.prod(shape, dtype=np.int64))
        special = self._random.choice(
            special_values(element_type).view(bits_dtype(element_type)), size
        )
        limit = 1 << (8 * element_type.dtype.itemsize)
        bits = self._random.integers(0, limit, size, special.dtype, endpoint=False)
        chosen = np.where(self._random.integers(0, 2, size) == 0, special, bits)
        array: Array = chosen.astype(special.dtype).view(element_type.dtype)
        if harmless and element_type.family is Family.INTEGER:
            array = array & element_type.dtype.type(np.iinfo(element_type.dtype).max) | 1
        return array.reshape(shape)


def verdict(violation: sonnx_ort.ContractViolation) -> tuple[object, ...]:
    """All that a violation says, apart from its text."""
    v = violation
    return v.rule, v.operator, v.node, v.shapes, v.index, v.values


def assert_agreement(operator: str, reference: Outcome, found: Outcome) -> None:
    """Assert that the outcomes of two backends on a model with an operator are the same."""
    if isinstance(reference, sonnx_ort.ContractViolation):
        assert isinstance(found, sonnx_ort.ContractViolation), f"unnoticed: {reference}"
        assert verdict(found) == verdict(reference)
        return
    assert not isinstance(found, sonnx_ort.ContractViolation), f"no violation: {found}"
    same = assert_identical if operator == "Broadcast" else assert_same_bits
    for result, expected in zip(found, reference, strict=True):
        same(result, expected)


def agreeing_runs(
    operator: str, seed: int, declarations: int, other: Callable[[Declaration], Any]
) -> Iterator[tuple[Declaration, sonnx_ort.InferenceSession, list[Outcome]]]:
    """Compare another backend with the python backend on random declarations and feeds.

    Args:
        operator: "Div", "Sub" or "Broadcast".
        seed: The seed.
        declarations: How many.
        other: Gives the session of the other backend.

    Yields:
        The declarations that are not rejected, with the other sessions and their outcomes.

    Raises:
        AssertionError: They differ; its notes tell on which model and feeds.
    """
    cases = RandomCases(operator, seed)
    for _ in range(declarations):
        declaration = cases.declaration()
        # Where the process ends, this is the last line.
        print(declaration, flush=True)
        reference, session = declaration.session(Backend.PYTHON), other(declaration)
        if isinstance(reference, sonnx_ort.ModelRejected):
            assert str(session) == str(reference)
            continue
        assert not isinstance(session, sonnx_ort.ModelRejected), session
        found = []
        for _ in range(FEEDS_PER_DECLARATION):
            feeds = cases.feeds(declaration)
            try:
                found.append(run(session, feeds))
                assert_agreement(operator, run(reference, feeds), found[-1])
            except Exception as error:
                error.add_note(f"{declaration}\n{feeds}")
                raise
        yield declaration, session, found


def compare(operator: str, backend: Backend, seed: int, declarations: int) -> int:
    """Compare a backend on the CPU as `agreeing_runs` does, and count the runs."""
    other = partial(Declaration.session, backend=backend)
    return sum(len(found) for *_, found in agreeing_runs(operator, seed, declarations, other))


ASSIGNMENTS = "session.record_ep_graph_assignment_info"
"""The entry of session options that makes ONNX Runtime remember which provider runs a node."""


@dataclass(slots=True)
class Tally:
    """What was compared; where anything differed there is none.

    Attributes:
        models: How many models ran.
        runs: How many runs were compared.
        refused: How many of them broke a rule.
        assigned: How many Div and Sub nodes of an element type ran on a provider, by
            "Div float on CPUExecutionProvider".
    """

    models: int = 0
    runs: int = 0
    refused: int = 0
    assigned: dict[str, int] = field(default_factory=dict)


def compare_on(provider: str, operator: str, seed: int, declarations: int) -> Tally:
    """Compare outputs bit by bit, verdicts, and what the messages of refused runs tell.

    Args:
        provider: The name of the execution provider for the native backend.
        operator: "Div", "Sub" or "Broadcast".
        seed: The seed of the models and the feeds.
        declarations: How many models.
    """
    tally = Tally()
    assigned: Counter[str] = Counter()
    native = partial(_native, provider=provider)
    for declaration, session, outcomes in agreeing_runs(operator, seed, declarations, native):
        violations = [o for o in outcomes if isinstance(o, sonnx_ort.ContractViolation)]
        for violation in violations:
            _assert_told(violation)
        tally.models += 1
        tally.runs += len(outcomes)
        tally.refused += len(violations)
        assigned.update(_assigned(session, declaration))
    tally.assigned = dict(assigned)
    return tally


def _native(
    declaration: Declaration, provider: str
) -> sonnx_ort.InferenceSession | sonnx_ort.ModelRejected:
    options = quiet()
    options.add_session_config_entry(ASSIGNMENTS, "1")
    session = declaration.session(Backend.NATIVE, options, providers=[provider])
    if isinstance(session, sonnx_ort.InferenceSession):
        # ONNX Runtime goes over to the CPU where it cannot make the provider.
        assert provider in session.get_providers(), f"{provider} is not to be had"
    return session


def _assigned(session: sonnx_ort.InferenceSession, declaration: Declaration) -> list[str]:
    element_type = declaration.element_types[0]
    return [
        f"{node.op_type} {element_type} on {part.ep_name}"
        for part in session.get_provider_graph_assignment_info()
        for node in part.get_nodes()
        if node.op_type in {"Div", "Sub"}
    ]


def _assert_told(violation: sonnx_ort.ContractViolation) -> None:
    """Assert that the message of ONNX Runtime itself tells operator, node and rule."""
    told = failure_in(str(violation.__cause__))
    assert told == Failure(violation.operator, violation.node, violation.rule)


def main() -> None:
    """Compare as the command line says."""
    provider, operator, seed, declarations = sys.argv[1:]
    # The kernels log each of the thousands of violations.
    logging.getLogger("sonnx_ort").setLevel(logging.CRITICAL)
    tally = compare_on(provider, operator, int(seed), int(declarations))
    print(json.dumps(asdict(tally)))


if __name__ == "__main__":
    main()
