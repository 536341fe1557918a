"""What the interpreter says of each operator is what ONNX Runtime does, on random inputs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import onnx
import pytest
import z3

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.applied import special_values
from support.graphs import declared, parse
from support.proofs.agreement import Array, of_any_operands, of_told_operands
from support.proofs.guards import outcome
from support.proofs.interpreter import MEANINGS, interpret
from support.proofs.powers import fact_of_power, limits
from support.proofs.tensors import pinned
from support.proofs.terms import NotInterpreted, bits_of, given, literal
from support.proofs.theorem import prove_formula
from support.values import FLOATS, INTEGERS, random_pairs

T = ElementType
RUNS = 5
Feeds = Mapping[str, Array]
Maker = Callable[[np.random.Generator], Feeds]
SIZES = [0, 1, 1, 2, 3]


def elements(generator: np.random.Generator, kind: ElementType, sizes: tuple[int, ...]) -> Array:
    count = int(np.prod(sizes, dtype=np.int64))
    if kind is T.BOOL:
        return (generator.random(count) < 0.5).reshape(sizes)
    special = generator.choice(special_values(kind).view(f"u{kind.dtype.itemsize}"), count)
    anything, _ = random_pairs(kind, max(count, 1))
    bits = generator.permutation(anything.view(special.dtype))[:count]
    return np.where(generator.random(count) < 0.5, special, bits).view(kind.dtype).reshape(sizes)


def shape(generator: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(size) for size in generator.choice(SIZES, generator.integers(0, 4)))


def alike(*kinds: ElementType) -> Maker:
    """Tensors of one shape, or of one axis and any lengths."""

    def make(generator: np.random.Generator) -> Feeds:
        shapes = [shape(generator)] * len(kinds)
        if generator.random() < 0.5:
            shapes = [(int(length),) for length in generator.choice(SIZES, len(kinds))]
        return {
            f"x{number}": elements(generator, kind, sizes)
            for number, (kind, sizes) in enumerate(zip(kinds, shapes, strict=True))
        }

    return make


def crossed(*kinds: ElementType) -> Maker:
    """A column of elements and a row, which broadcast to a matrix."""

    def make(generator: np.random.Generator) -> Feeds:
        rows, columns = (int(size) for size in generator.choice(SIZES, 2))
        shapes = [(rows, 1), (columns,)]
        return {
            f"x{number}": elements(generator, kind, sizes)
            for number, (kind, sizes) in enumerate(zip(kinds, shapes, strict=True))
        }

    return make


def single(*kinds: ElementType) -> Maker:
    """Tensors of one element, which broadcast."""

    def make(generator: np.random.Generator) -> Feeds:
        sizes = [shape(generator), *[()] * (len(kinds) - 1)]
        return {
            f"x{number}": elements(generator, kind, size)
            for number, (kind, size) in enumerate(zip(kinds, sizes, strict=True))
        }

    return make


def asked(numbers: list[int]) -> Maker:
    """A tensor of float and a shape, most of the time one of as many elements."""

    def make(generator: np.random.Generator) -> Feeds:
        own = shape(generator)
        wanted = generator.choice(numbers, generator.integers(0, 4))
        if generator.random() < 0.5:
            wanted = np.array(own, np.int64)
            if own and generator.random() < 0.5:
                wanted[generator.integers(len(own))] = generator.choice(numbers)
        return {"x0": elements(generator, T.FLOAT, own), "x1": wanted.astype(np.int64)}

    return make


def vectors(*numbers: list[int], lengths: list[int] | None = None) -> Maker:
    """Vectors of sizes."""

    def make(generator: np.random.Generator) -> Feeds:
        return {
            f"x{position}": generator.choice(each, generator.choice(lengths or SIZES)).astype(
                np.int64
            )
            for position, each in enumerate(numbers)
        }

    return make


@dataclass(frozen=True)
class DryRun:
    """A node, and what it is given.

    Attributes:
        node: The node, as text.
        kinds: The types of its inputs.
        result: The type of its output.
        make: Makes inputs.
        sizes: Whether integers of 64 bits are sizes.
        opset: The version of the standard operators.
        told: Whether the interpreter tells the result, and does not leave it open.
    """

    node: str
    kinds: tuple[ElementType, ...]
    result: ElementType
    make: Maker
    sizes: bool = False
    opset: int = 21
    told: bool = True

    def model(self) -> onnx.ModelProto:
        inputs = ", ".join(f"{declared(k, None)} x{n}" for n, k in enumerate(self.kinds))
        return parse(
            f"({inputs}) => ({declared(self.result, None)} y) {{ y = {self.node} }}",
            opset=self.opset,
        )

    def __str__(self) -> str:
        return f"{self.node} {' '.join(self.kinds)}{' of sizes' if self.sizes else ''}"


def trials() -> Iterator[DryRun]:
    yield from of_elements()
    yield from of_arithmetic()
    yield from of_sizes()
    yield from of_lines()
    yield from of_layout()


def of_elements() -> Iterator[DryRun]:
    for kind in (*INTEGERS, *FLOATS):
        if kind is T.BFLOAT16:
            continue
        for operator in ("Equal", "Less", "Greater"):
            for make in (alike(kind, kind), single(kind, kind)):
                yield DryRun(f"{operator}(x0, x1)", (kind, kind), T.BOOL, make)
    for operator in ("And", "Or"):
        yield DryRun(f"{operator}(x0, x1)", (T.BOOL, T.BOOL), T.BOOL, alike(T.BOOL, T.BOOL))
        yield DryRun(f"{operator}(x0, x1)", (T.BOOL, T.BOOL), T.BOOL, crossed(T.BOOL, T.BOOL))
    for operator in ("Equal", "Less"):
        yield DryRun(f"{operator}(x0, x1)", (T.INT64, T.INT64), T.BOOL, crossed(T.INT64, T.INT64))
    yield DryRun("Equal(x0, x1)", (T.BOOL, T.BOOL), T.BOOL, alike(T.BOOL, T.BOOL))
    yield DryRun("Not(x0)", (T.BOOL,), T.BOOL, alike(T.BOOL))
    yield DryRun("Identity(x0)", (T.FLOAT,), T.FLOAT, alike(T.FLOAT))
    for kind in (T.FLOAT, T.DOUBLE, T.INT64, T.INT32):
        kinds = (T.BOOL, kind, kind)
        yield DryRun("Where(x0, x1, x2)", kinds, kind, alike(*kinds))
    for source, to in conversions():
        number = onnx.TensorProto.DataType.Value(to.upper())
        yield DryRun(f"Cast<to = {number}>(x0)", (source,), to, alike(source))


def conversions() -> Iterator[tuple[ElementType, ElementType]]:
    """What guards convert, and the narrowing of integers."""
    for kind in (*INTEGERS, *FLOATS):
        yield kind, T.BOOL
        yield T.BOOL, kind
    yield from ((one, other) for one in INTEGERS for other in (T.INT32, T.INT64))
    yield from ((one, other) for one in FLOATS for other in FLOATS)
    yield from ((kind, T.FLOAT) for kind in INTEGERS)


def of_arithmetic() -> Iterator[DryRun]:
    for kind in (T.FLOAT, T.DOUBLE):
        for operator in ("Add", "Sub", "Mul", "Div"):
            yield DryRun(f"{operator}(x0, x1)", (kind, kind), kind, alike(kind, kind))
        for operator in ("Abs", "Neg", "Sqrt", "Reciprocal"):
            yield DryRun(f"{operator}(x0)", (kind,), kind, alike(kind))
        yield DryRun("IsNaN(x0)", (kind,), T.BOOL, alike(kind))
        yield DryRun("Floor(x0)", (kind,), kind, alike(kind))
    for kind in (T.INT32, T.INT64):
        for operator in ("Add", "Sub", "Mul"):
            yield DryRun(f"{operator}(x0, x1)", (kind, kind), kind, alike(kind, kind))
    for operator in ("ReduceMax", "ReduceMin"):
        kinds = (T.INT32, T.INT64, T.INT8, T.UINT8)
        for kind in kinds:
            yield DryRun(f"{operator}<keepdims = 0>(x0)", (kind,), kind, alike(kind))
        one_axis = vectors([-71, 0, 1, 2, 3])
        yield DryRun(f"{operator}<keepdims = 1>(x0)", (T.INT64,), T.INT64, one_axis, sizes=True)


def of_sizes() -> Iterator[DryRun]:
    edges = [0, 1, 2, 7, -1, -71, (1 << 63) - 1, -(1 << 63)]
    two, kinds = vectors(edges, edges), (T.INT64, T.INT64)
    for operator in ("Equal", "Less", "Greater"):
        yield DryRun(f"{operator}(x0, x1)", kinds, T.BOOL, two, sizes=True)
    yield DryRun("Add(x0, x1)", kinds, T.INT64, two, sizes=True)
    yield DryRun("Sub(x0, x1)", kinds, T.INT64, two, sizes=True)
    yield DryRun("Mul(x0, x1)", kinds, T.INT64, two, sizes=True)
    yield DryRun("Neg(x0)", (T.INT64,), T.INT64, vectors(edges), sizes=True)
    yield DryRun("Cast<to = 7>(x0)", (T.INT64,), T.INT64, vectors(edges), sizes=True)
    beyond = [0, 1, 5, (1 << 31) - 1, 3_000_000_000]
    yield DryRun("Max(x0, x1)", kinds, T.INT64, vectors(beyond, beyond), sizes=True)
    yield DryRun("Concat<axis = 0>(x0, x1)", kinds, T.INT64, two, sizes=True)
    yield DryRun(
        "Gather<axis = 0>(x0, x1)", kinds, T.INT64, vectors(edges, [-3, -1, 0, 0, 1, 2]), sizes=True
    )


def matrix(generator: np.random.Generator) -> Feeds:
    """A matrix of floats, in which many lines are infinite throughout."""
    sizes = [int(size) for size in generator.choice(SIZES, 2)]
    x = elements(generator, T.FLOAT, sizes)
    return {"x0": np.where(generator.random(sizes[0])[:, None] < 0.3, np.float32(-np.inf), x)}


def of_lines() -> Iterator[DryRun]:
    for operator, axis in product(("ReduceMax", "ReduceSum"), (0, 1)):
        node = f"{operator}<axes = [{axis}], keepdims = 0>(x0)"
        yield DryRun(node, (T.FLOAT,), T.FLOAT, matrix, opset=12, told=False)
    for start in (0, 2, -2):
        node = f"Slice<axes = [0], starts = [{start}], ends = [4611686018427387904]>(x0)"
        yield DryRun(node, (T.INT64,), T.INT64, vectors([0, 1, 5]), sizes=True, opset=9)


BRANCHES = (
    "If (x0) <then_branch = one () => (int64[] a) { n = Shape(x1) a = Reshape(n, x2) }, "
    "else_branch = other () => (int64[] b) { b = Identity(x2) }>"
)
"""The Reshape fails where the branch is taken and another number of elements is asked for."""


def of_layout() -> Iterator[DryRun]:
    yield DryRun(
        BRANCHES,
        (T.BOOL, T.FLOAT, T.INT64),
        T.INT64,
        lambda g: {
            "x0": np.array(g.random() < 0.5),
            "x1": elements(g, T.FLOAT, shape(g)),
            "x2": g.choice([-71, -1, 0, 1, 2, 3], 1).astype(np.int64),
        },
        sizes=True,
    )
    for kind in (T.FLOAT, T.INT64, T.BOOL):
        yield DryRun("Shape(x0)", (kind,), T.INT64, alike(kind))
    numbers = [-71, -2, -1, 0, 0, 1, 2, 3, 6]
    for allowzero in ("", "<allowzero = 1>"):
        yield DryRun(
            f"Reshape{allowzero}(x0, x1)", (T.FLOAT, T.INT64), T.FLOAT, asked(numbers), sizes=True
        )
    yield DryRun(
        "Expand(x0, x1)", (T.FLOAT, T.INT64), T.FLOAT, asked([-1, 0, 1, 1, 2, 3]), sizes=True
    )
    one = vectors([-2, 0, 1, 3], lengths=[1])
    yield DryRun("ConstantOfShape<value = int64[1] {1}>(x0)", (T.INT64,), T.INT64, one, sizes=True)
    yield DryRun(
        "Tile(x0, x1)",
        (T.INT64, T.INT64),
        T.INT64,
        lambda g: {**vectors([5, 6, 7])(g), "x1": g.choice([0, 1, 2], 1).astype(np.int64)},
        sizes=True,
    )
    yield DryRun(
        "Range(x0, x1, x2)",
        (T.INT64,) * 3,
        T.INT64,
        lambda g: {"x0": np.array(0), "x1": np.array(g.integers(-2, 5)), "x2": np.array(1)},
        sizes=True,
    )


ALL = list(trials())


@pytest.mark.parametrize("trial", ALL, ids=str)
def test_operator_does_what_the_interpreter_says(trial: DryRun) -> None:
    generator = np.random.default_rng(2)
    model = trial.model()
    said = []
    for _ in range(RUNS):
        feeds = trial.make(generator)
        # Of no elements, what a reduction gives depends on the version of ONNX Runtime.
        told = trial.told and ("Reduce" not in trial.node or feeds["x0"].size > 0)
        said.append(of_told_operands(model, feeds, sizes=trial.sizes, told=told))
    assert any(said)


def test_every_operator_that_is_interpreted_is_tried() -> None:
    tried = {trial.node.partition("(")[0].partition("<")[0] for trial in ALL}
    # Of Pow only the side of limits is told; it has trials of its own.
    assert set(MEANINGS) - tried == {"Constant", "Pow"}


def pairs_of_powers(kind: ElementType) -> tuple[Array, Array]:
    """Bases and exponents of powers on both sides of the limits, and of special ones."""
    type_limits, largest = np.iinfo(kind.dtype), limits(bits_of(kind))[1]
    special = (0, 1, -1, 2, -2, int(type_limits.min), int(type_limits.max))
    pairs = set(product(special, (*range(-2, 4), 62, 63, 64, 65, *special)))
    for exponent in range(1, 65):
        root = round(largest ** (1 / exponent))
        pairs.update(product(range(root - 2, root + 4), [exponent]))
        pairs.update(product(range(-root - 3, 3 - root), [exponent]))
    held = [pair for pair in sorted(pairs) if type_limits.min <= pair[0] <= type_limits.max]
    bases, exponents = np.array(held, kind.dtype).T
    return bases, exponents


def powers(kind: ElementType, behind: str, result: ElementType) -> onnx.ModelProto:
    """A model of powers in double, as guards compute them, and of nodes behind it."""
    number = onnx.TensorProto.DOUBLE
    return parse(
        f"({kind}[] x0, {kind}[] x1) => ({result}[] y) {{ a = Cast<to = {number}>(x0) "
        f"b = Cast<to = {number}>(x1) p = Pow(a, b) {behind} }}"
    )


@pytest.mark.parametrize("kind", [T.INT32, T.INT64])
def test_what_is_said_of_powers_is_so_of_those_that_are_seen(kind: ElementType) -> None:
    bases, exponents = pairs_of_powers(kind)
    found = outcome(powers(kind, "y = Identity(p)", T.DOUBLE), {"x0": bases, "x1": exponents})
    assert found is not None
    (seen,) = found
    assert seen is not None
    triples = zip(bases, exponents, seen, strict=True)
    facts = [
        fact_of_power(given(x, kind), given(y, kind), literal(p, T.DOUBLE)) for x, y, p in triples
    ]
    prove_formula(z3.And(facts))


@pytest.mark.parametrize("kind", [T.INT32, T.INT64])
@pytest.mark.thorough
def test_powers_are_told_apart_by_their_limits(kind: ElementType) -> None:
    lower, upper = limits(bits_of(kind))
    within = (
        f"l = Constant<value = double {{{lower - 1}.0}}>() g = Greater(p, l) "
        f"u = Constant<value = double {{{upper + 1}.0}}>() s = Less(p, u) y = And(g, s)"
    )
    generator = np.random.default_rng(8)
    pairs = np.stack(pairs_of_powers(kind))
    for _ in range(RUNS):
        bases, exponents = generator.choice(pairs, 20, axis=1)
        assert of_told_operands(powers(kind, within, T.BOOL), {"x0": bases, "x1": exponents})


OF_ANY_RANK = {
    "reshape": "s = Shape(x1) y = Reshape(x0, s)",
    "expand": "s = Shape(x1) y = Expand(x0, s)",
    "compare": "r = Shape(x0) s = Shape(x1) y = Equal(r, s)",
    "choose": "r = Shape(x0) s = Shape(x1) e = Equal(r, s) y = Where(e, r, s)",
    "join": "r = Shape(x0) s = Shape(x1) y = Concat<axis = 0>(r, s)",
    "add": "r = Shape(x0) s = Shape(x1) y = Add(r, s)",
    "smallest": "r = Shape(x0) y = ReduceMin<keepdims = 1>(r)",
    "largest": "y = ReduceMax<keepdims = 0>(x0)",
    "convert": "y = Cast<to = 9>(x0)",
    "ones behind": (
        "s = Shape(x0) r = Shape(x1) n = Shape(r) o = ConstantOfShape<value = int64[1] {1}>(n) "
        "w = Concat<axis = 0>(s, o) y = Reshape(x0, w)"
    ),
    "flatten": "m = Constant<value = int64[1] {-1}>() y = Reshape(x0, m)",
    "as it is": "s = Shape(x1) y = Reshape<allowzero = 1>(x0, s)",
    "gather": (
        "m = Constant<value = int64[1] {-1}>() f = Reshape(x0, m) n = Shape(f) "
        "e = Constant<value = int64[0] {}>() c = Reshape(n, e) z = Constant<value = int64 {0}>() "
        "o = Constant<value = int64 {1}>() p = Range(z, c, o) r = Shape(x0) "
        "q = Reshape<allowzero = 1>(p, r) s = Shape(x1) w = Expand(q, s) y = Gather(f, w)"
    ),
}


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize("nodes", OF_ANY_RANK)
def test_what_is_said_of_any_rank_admits_what_is_seen(nodes: str, backwards: bool) -> None:
    generator = np.random.default_rng(5)
    result = {"convert": "bool", "compare": "bool"}.get(nodes, "int64")
    if nodes in {"reshape", "expand", "largest", "ones behind", "flatten", "as it is", "gather"}:
        result = "int32"
    text = f"(int32[] x0, int32[] x1) => ({result}[] y) {{ {OF_ANY_RANK[nodes]} }}"
    model = parse(text)
    for _ in range(10):
        one = shape(generator)
        other = one if generator.random() < 0.5 else shape(generator)
        feeds = {"x0": elements(generator, T.INT32, one), "x1": elements(generator, T.INT32, other)}
        of_any_operands(model, feeds, backwards=backwards)


UNKNOWN = {
    "operator": "y = Sin(x)",
    "attribute": "y = Cast<to = 1, saturate = 0>(x)",
    "domain": "y = other.Neg(x)",
    "axis": "y = Concat<axis = 1>(x, x)",
    "reduction of one axis": "a = Constant<value = int64[1] {0}>() y = ReduceMax(x, a)",
    "kept axes": "y = ReduceMax<keepdims = 1>(x)",
    "integer arithmetic": "y = Div(x, x)",
}


@pytest.mark.parametrize("nodes", UNKNOWN)
def test_what_nobody_said_the_meaning_of_is_an_error(nodes: str) -> None:
    domains = {"other": 1}
    model = parse(f"(int32[2,2] x) => (int32[] y) {{ {UNKNOWN[nodes]} }}", domains=domains)
    operand = pinned(np.zeros((2, 2), np.int32), T.INT32)

    def read() -> None:
        values, _ = interpret(model, {"x": operand})
        values["y"].elements.at(0)

    with pytest.raises(NotInterpreted):
        read()
