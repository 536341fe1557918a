"""The cases of the suite: for every operator, type, rule and special value of the profile.

Their levels and classes are those of the working group's strategy of tests (tests-part1.md, "Test
approach and levels"; tests-part2.md, "Domains"). The examples of the rules on graphs are sentences;
here they are written as ONNX writes models as text.
"""

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
import onnx
import onnx.defs
import onnx.parser
from onnx import helper

from sonnx_ort.facts.schemas import known_schema
from sonnx_ort.meaning import Result, Undefined
from sonnx_ort.meaning import meaning as meaning_of
from sonnx_ort.meaning.balls import WITHOUT_FLINT
from sonnx_ort.meaning.node import ELEMENT_TYPES
from sonnx_ort.meaning.numbers import TYPES
from sonnx_ort.meaning.results import copied
from sonnx_ort.profile.catalog import OPERATORS, RULES, STANDARD_OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.graph import GRAPH, GRAPH_RULES
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import DOMAIN, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule, Subject
from sonnx_ort.profile.source import Basis
from sonnx_ort.runs.audit.audited_node import attributes_of
from sonnx_ort.vectors.applied import (
    OPSET,
    Applied,
    Array,
    Class,
    as_installed,
    neighbors,
    ordinary,
    special_classes,
)
from sonnx_ort.vectors.documents import EXAMPLES
from sonnx_ort.vectors.examples import examples, fitting
from sonnx_ort.vectors.printed import Example
from sonnx_ort.vectors.unruled import APART, SHAPES, UNRULED, broadcasts, known
from sonnx_ort.vectors.variants import TRUE_OR_FALSE, WITHOUT_DISTINCT, distinct, variants

_SUM = "(float[2, 3] a, float[2, 3] b) => (float[2, 3] y) <float[2, 3] c> {"
_TWO = f"{_SUM} c = Add(a, b) y = Relu(c) }}"
_ONE = "(float[2, 3] x) => (float[2, 3] y) {"
_RELU = f"{_ONE} y = Relu(x) }}"
_CONVERTED = "(float[2] x) => ({}[2] y) {{ y = Cast<saturate = 1, to = {}>(x) }}"
_NOISE = f"{_ONE} y = RandomNormalLike<dtype = 1, mean = 0., scale = 1., seed = 1.>(x) }}"
_DROPOUT = (
    "(float[2, 3] x, float ratio, bool training) => (float[2, 3] y, bool[2, 3] m) "
    "{ y, m = Dropout<seed = 1>(x, ratio, training) }"
)
_POWER = "(float[2] x, {}[2] p) => (float[2] y) {{ y = Pow(x, p) }}"
_CONV = (
    "(float[1, 3, 5, 5] x, float[6, 3, 3, 3] w{0}) => (float[1, 6, 3, 3] y) {{ y = Conv<"
    'auto_pad = "NOTSET", dilations = [1, 1], group = 1, kernel_shape = [3, 3], '
    "pads = [0, 0, 0, 0], strides = [1, 1]>(x, w{1}) }}"
)
_POOL = (
    "(float[1, 3, 4, 4] x) => (float[1, 3, 3, 3] y{}) {}{{ y, i = MaxPool<"
    'auto_pad = "NOTSET", ceil_mode = 0, dilations = [1, 1], kernel_shape = [2, 2], '
    "pads = [0, 0, 0, 0], storage_order = 0, strides = [1, 1]>(x) }}"
)
_INDICES = "<int64[1, 3, 3, 3] i> "

_MODELS: Mapping[str, tuple[str, str]] = {
    "Graph.operator_set": (_RELU, f"{_ONE} y = HardSigmoid<alpha = 0.2, beta = 0.5>(x) }}"),
    "Graph.types": (_CONVERTED.format("float", 1), _CONVERTED.format("float8e5m2", 19)),
    "Graph.deterministic": (_RELU, _NOISE),
    "Graph.inference": (_RELU, _DROPOUT),
    "Graph.versions": (_TWO, _TWO),
    "GR2": (_TWO, _TWO.replace("<float[2, 3] c> ", "")),
    "GR3": (_POWER.format("float"), _POWER.format("int64")),
    "GR4": (f"{_ONE} y = Softmax<axis = 1>(x) }}", f"{_ONE} y = Softmax(x) }}"),
    "Graph.implicit_shape": (_TWO, _TWO.replace("<float[2, 3] c>", "<float[] c>")),
    "Graph.dead_node": (_TWO, f"{_SUM} y = Add(a, b) c = Relu(a) }}"),
    "Graph.unused_input": (_TWO, f"{_SUM} c = Add(a, a) y = Relu(c) }}"),
    "Graph.edges": (_CONV.format(", float[6] b", ", b"), _CONV.format("", "")),
    "Graph.unread": (_POOL.format(", int64[1, 3, 3, 3] i", ""), _POOL.format("", _INDICES)),
    "Graph.false_claim": (_TWO, _TWO.replace("<float[2, 3] c>", "<float[3, 2] c>")),
    "Graph.single_assignment": (_TWO, f"{_SUM} c = Add(a, b) c = Sub(a, b) y = Relu(c) }}"),
    "Graph.outputs": (_TWO, f"{_SUM} c = Add(a, b) z = Relu(c) }}"),
}
"""The graph that keeps a rule, and the one that breaks it."""


@dataclass(frozen=True)
class WholeGraph:
    """A graph and its inputs, as cases of single nodes have them."""

    graph: onnx.ModelProto
    feeds: Mapping[str, Array]
    broken_rules: tuple[Rule, ...] = ()
    edition: Edition = Edition.TYPED
    operator: str = GRAPH
    opset: int = OPSET
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> Mapping[str, Array]:
        """The inputs by name."""
        return self.feeds

    @property
    def results(self) -> int:
        """How many outputs it has."""
        return len(self.graph.graph.output)

    def model(self) -> onnx.ModelProto:
        """The model."""
        return self.graph

    @cached_property
    def meaning(self) -> tuple[Result, ...] | Undefined:
        """What its nodes mean, one after the other; all but the last ones are exact."""
        return as_installed(self._meaning)

    def _meaning(self) -> tuple[Result, ...] | Undefined:
        """The results of the graph, node by node."""
        known: dict[str, Any] = dict(self.feeds)
        results: dict[str, Result] = {}
        for node in self.graph.graph.node:
            operands = [known[name] for name in node.input]
            if node.domain == DOMAIN:
                return tuple(map(copied, np.broadcast_arrays(*operands)))
            called = node.op_type, self.opset, attributes_of(node), operands
            found = meaning_of(*called, self.edition)
            if isinstance(found, Undefined):
                return found
            results |= zip(node.output, found, strict=False)
            known |= {name: result.nearest for name, result in results.items()}
        return tuple(results[value.name] for value in self.graph.graph.output)


def graphs(
    generator: np.random.Generator, edition: Edition
) -> Iterator[tuple[Rule, bool, WholeGraph]]:
    """For each rule on graphs one graph that keeps all of them, and one that breaks it.

    Yields:
        The rule, whether it is kept, and the graph.
    """
    for rule in GRAPH_RULES:
        for kept, text in zip((True, False), _MODELS[rule.id], strict=True):
            model = _parsed(text)
            if rule.id == "Graph.versions" and not kept:
                model.opset_import.add(domain="", version=OPSET - 1)
            feeds = {
                value.name: ordinary(generator, ELEMENT_TYPES[_dtype(value)], _shape(value))
                for value in model.graph.input
            }
            yield rule, kept, WholeGraph(model, feeds, () if kept else (rule,), edition)


def _parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {OPSET}]> whole {text}')


def _dtype(value: onnx.ValueInfoProto) -> np.dtype[Any]:
    dtype: np.dtype[Any] = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    return dtype


def _shape(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)


class Level(enum.StrEnum):
    """A level of tests."""

    CONFORMANCE = "a: conformance"
    FLOATS = "b: numerical robustness"
    INTEGERS = "c: integer robustness"
    RANDOM = "d: property-based"
    NEGATIVE = "e: negative"


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        model: The name of its model, which other cases share.
        applied: The node and its operands.
        rule: The rule of which it is an example; None if it is of none.
        note: What it shows, where its class does not say it.
        example: The example of a draft that it is; None if it is none.
    """

    model: str
    applied: Applied | WholeGraph
    level: Level
    of_class: Class
    rule: Rule | None = None
    note: str = ""
    example: Example | None = None

    @property
    def kind(self) -> ElementType:
        """The type of the operands that have none of their own, or of the first result."""
        operator = known(self.applied.operator)
        typed = () if operator is None else operator.operand_types
        given = self.applied.given.items()
        arrays = [*(a for n, a in given if n not in typed), *self.applied.attributes.values()]
        kinds = (_type(a) for a in arrays if isinstance(a, np.ndarray))
        return next(kinds, ElementType.FLOAT)

    @property
    def refused(self) -> bool:
        """Whether a rule is broken, so that no result is right.

        Rules of sonnx_ort refuse no example of a draft: the draft has its result.
        """
        broken = self.applied.broken_rules
        if self.example is not None:
            broken = tuple(each for each in broken if each.basis is not Basis.OURS)
        return bool(broken)

    @property
    def needs_flint(self) -> bool:
        """Whether only python-flint computes what is right, and it is not installed."""
        found = None if self.refused else self.applied.meaning
        return isinstance(found, Undefined) and found.reason == WITHOUT_FLINT


_KEPT = Level.CONFORMANCE, Class.KEPT
_BROKEN = Level.NEGATIVE, Class.BROKEN

_SHAPES = ((), (5,), (2, 3), (2, 1, 3, 2), (1, 3), (3, 1), (1, 1), (0, 3), (2, 0))
"""A scalar, a vector, a matrix, another rank; lines and columns; tensors without elements."""

_OLDEST = 7
"""The oldest version of operators that is tried: before it, broadcasting was an attribute."""

_REFUSED_ELEMENTS = 3
"""How many of the elements that break a rule in a type are cases."""

_WIDTH = 64
"""How many random elements a case of an element-wise operator has."""


RULES_WITHOUT_CASES: Mapping[str, str] = {
    "GR1": "a general restriction: the rule RG1 of each operator is about its operands",
    "Graph.finite": "it is a condition of a proof, which no model breaks",
    "Contract.finite": "it is a condition of a contract, which no model states",
    "Contract.range": "it is a condition of a contract, which no model states",
    "Contract.sizes": "it is a condition of a contract, which no model states",
    "Contract.whole": "it is a condition of a contract, which no model states",
}
"""The rules that have no cases, and why; Cast.R2 has none that breaks it (`UNBROKEN`)."""

UNBROKEN = {"Cast.R2": "Cast takes every element type"}
"""The rules that no node of the suite breaks, and why."""

WITH_CASES = STANDARD_OPERATORS | UNRULED.keys() | {BROADCAST.name, GRAPH}
"""The operators that have cases, and the name of the rules on graphs."""


def cases(
    operators: Collection[str] = WITH_CASES, seed: int = 0, edition: Edition = Edition.TYPED
) -> Iterator[Case]:
    """The cases, in the order of the catalog of operators.

    What the documents leave undefined is no case. Last come the operators without rules, Broadcast
    and the rules on graphs. Without python-flint some cases have no results: `needs_flint`.

    `seed` is that of the elements that nothing decides.
    """
    standard = (each for each in OPERATORS.values() if each.name in STANDARD_OPERATORS)
    for operator in (*standard, *UNRULED.values()):
        if operator.name in operators:
            made = _Cases(operator, seed, edition)
            for case in (
                *example_cases(operator.name, edition),
                *made.of_types(),
                *made.of_shapes(),
                *made.of_versions(),
                *made.of_rules(),
                *made.of_neighbors(),
                *made.of_variants(),
            ):
                defined = case.refused or not isinstance(case.applied.meaning, Undefined)
                if defined or case.needs_flint:
                    yield case
    if BROADCAST.name in operators:
        yield from _of_broadcast(edition)
    if GRAPH in operators:
        yield from _of_graphs(seed, edition)


def example_cases(operator: str, edition: Edition) -> Iterator[Case]:
    """The examples of the draft of an operator, which are those of the typed edition."""
    for each in EXAMPLES if edition is Edition.TYPED else ():
        if each.operator == operator:
            name = f"{operator.lower()}_{each.kind}_example"
            yield Case(
                name,
                each.applied,
                Level.CONFORMANCE,
                Class.EXAMPLE,
                note=each.note,
                example=each,
            )


def rule_cases(operator: str, edition: Edition, seed: int = 0) -> Iterator[Case]:
    """Of each rule of an operator in an edition a case that keeps it, and one that breaks it."""
    return _Cases(OPERATORS[operator], seed, edition).of_rules()


def shape_cases(operator: str, edition: Edition = Edition.TYPED, seed: int = 0) -> Iterator[Case]:
    """An element-wise operator on operands of each rank, and without elements."""
    return _Cases(OPERATORS[operator], seed, edition).of_shapes()


def variant_cases(operator: Operator, edition: Edition, seed: int = 0) -> Iterator[Case]:
    """What the guidelines of tests ask for beside types, rules and special values."""
    return _Cases(operator, seed, edition).of_variants()


def _of_graphs(seed: int, edition: Edition) -> Iterator[Case]:
    for rule, kept, graph in graphs(np.random.default_rng(seed), edition):
        level, of_class = _KEPT if kept else _BROKEN
        word = of_class.value.rpartition(" ")[2]
        name = f"{rule.id.replace('.', '_').lower()}_{word}"
        yield Case(name, graph, level, of_class, rule)


def _of_broadcast(edition: Edition) -> Iterator[Case]:
    """Broadcasts in each type, of shapes that have a common one, and of others."""
    e1, c1 = (RULES[f"{BROADCAST.name}.{tag}"] for tag in ("E1", "C1"))
    for kind in (each for each in ElementType if each.family in BROADCAST.families):
        chosen = SHAPES if kind is ElementType.FLOAT else SHAPES[1:2]
        for number, shapes in enumerate(chosen):
            applied = _broadcast(shapes, kind, edition)
            of_class, rule = (Class.RANK, None) if number else (Class.KEPT, e1)
            yield Case(f"broadcast_{kind}", applied, Level.CONFORMANCE, of_class, rule)
    for shapes in APART:
        applied = _broadcast(shapes, ElementType.FLOAT, edition, e1)
        yield Case("broadcast_e1_broken", applied, *_BROKEN, e1)
    yield Case("broadcast_c1_kept", _broadcast(SHAPES[0], ElementType.FLOAT, edition), *_KEPT, c1)
    wrong = _broadcast(SHAPES[0], ElementType.FLOAT, edition, c1)
    yield Case("broadcast_c1_broken", wrong, *_BROKEN, c1)


def _broadcast(
    shapes: tuple[tuple[int, ...], ...], kind: ElementType, edition: Edition, *broken: Rule
) -> WholeGraph:
    declared = ElementType.INT32 if any(rule.id.endswith("C1") for rule in broken) else None
    model, feeds = broadcasts(shapes, kind, declared)
    return WholeGraph(model, feeds, broken, edition, BROADCAST.name)


class _Cases:
    """Makes the cases of an operator."""

    def __init__(self, operator: Operator, seed: int, edition: Edition) -> None:
        self._operator, self._edition = operator, edition
        self._generator = np.random.default_rng([seed, crc32(operator.name.encode())])

    def of_types(self) -> Iterator[Case]:
        """Cases in each type that ONNX admits: those that the profile lacks are refused."""
        families = self._operator.contracts[self._edition]
        for kind in (each for each in ElementType if each.family in families):
            for name, base in self._variants(kind):
                if not base.admitted_by_onnx:
                    continue
                refused = bool(base.broken_rules)
                level = Level.NEGATIVE if refused else Level.CONFORMANCE
                yield Case(name, base, level, Class.TYPE)
                if not refused:
                    make = self._elementwise if self._operator.elementwise else self._special
                    yield from make(name, base, kind)

    def _variants(self, kind: ElementType) -> Iterator[tuple[str, Applied]]:
        """The node that keeps all rules, and others with each value of an attribute."""
        base = fitting(self._operator, kind, self._generator, self._edition)
        name = f"{self._operator.name.lower()}_{kind}"
        match self._operator.name:
            case "Cast":
                for number, target in TYPES.items():
                    yield f"{name}_to_{target}", replace(base, attributes={"to": number})
            case "BitShift":
                for direction in ("LEFT", "RIGHT"):
                    attributes = {"direction": direction}
                    yield f"{name}_{direction.lower()}", replace(base, attributes=attributes)
            case _:
                yield name, base

    def _elementwise(self, name: str, base: Applied, kind: ElementType) -> Iterator[Case]:
        """Each special value of the first operand of the type with those of all others."""
        first = next(n for n in base.given if n not in self._operator.operand_types)
        for of_class, values in special_classes(kind).items():
            columns = [
                values if n == first else np.concatenate([*special_classes(_type(array)).values()])
                for n, array in base.given.items()
            ]
            combined = [each.ravel() for each in np.meshgrid(*columns, indexing="ij")]
            kept, broken = _divided(replace(base, operands=combined))
            level = Level.FLOATS if kind.family is Family.FLOAT else Level.INTEGERS
            yield from (Case(f"{name}_vector", each, level, of_class) for each in kept)
            for each in broken:
                yield Case(f"{name}_broken", each, Level.NEGATIVE, of_class)
        random = [ordinary(self._generator, _type(a), (_WIDTH,)) for a in base.given.values()]
        kept, _ = _divided(replace(base, operands=random))
        for each in kept:
            yield Case(f"{name}_vector", each, Level.RANDOM, Class.INTERIOR)

    def _special(self, name: str, base: Applied, kind: ElementType) -> Iterator[Case]:
        """Special values among the elements of the first operand."""
        first, *others = base.operands or (None,)
        if first is None or not first.ndim or first.dtype != kind.dtype:
            return
        level = Level.FLOATS if kind.family is Family.FLOAT else Level.INTEGERS
        for of_class, values in special_classes(kind).items():
            chosen = values[self._generator.integers(0, len(values), first.shape)]
            mask = self._generator.random(first.shape) < 0.5
            mask.flat[0] = True
            mixed = np.where(mask, chosen, first).astype(first.dtype)
            yield _special_case(name, replace(base, operands=[mixed, *others]), level, of_class)
        random = [ordinary(self._generator, kind, first.shape), *others]
        applied = replace(base, operands=random)
        yield _special_case(name, applied, Level.RANDOM, Class.INTERIOR)

    def of_versions(self) -> Iterator[Case]:
        """Each version of the operator that has the operands and attributes of the newest one."""
        kind = next(self._types())
        for version in self._operator.versions:
            name, base = next(self._variants(kind))
            schema = known_schema(self._operator.name, OPSET)
            if not _OLDEST <= version <= onnx.defs.onnx_opset_version() or (
                version == schema.since_version
            ):
                continue
            schema = known_schema(self._operator.name, version)
            known = {n: v for n, v in base.attributes.items() if n in schema.attributes}
            applied = replace(base, opset=version, attributes=known)
            if len(applied.operands) <= len(schema.inputs) and applied.admitted_by_onnx:
                yield Case(f"{name}_version_{version}", applied, Level.CONFORMANCE, Class.VERSION)

    def of_shapes(self) -> Iterator[Case]:
        """Element-wise operators on operands of each rank, and without elements."""
        if not self._operator.elementwise:
            return
        kind = next(iter(self._types()))
        for number, shape in enumerate(_SHAPES):
            _, base = next(self._variants(kind))
            operands = [np.resize(array, shape) for array in base.given.values()]
            applied = replace(base, operands=operands)
            if self._operator.name not in (*WITHOUT_DISTINCT, *TRUE_OR_FALSE):
                applied = distinct(applied, kind)
            name = f"{self._operator.name.lower()}_rank_{len(shape)}"
            of_class = Class.RANK if number < 4 else Class.SIZE
            yield Case(name, applied, Level.CONFORMANCE, of_class)

    def _types(self) -> Iterator[ElementType]:
        """The types with valid cases; float and int32 come first, and again in their order."""
        families = self._operator.contracts[self._edition]
        for kind in (ElementType.FLOAT, ElementType.INT32, *ElementType):
            if kind.family in families:
                _, base = next(self._variants(kind))
                if base.admitted_by_onnx and not base.broken_rules:
                    yield kind

    def of_rules(self) -> Iterator[Case]:
        """The example of each rule: what keeps it and what breaks it."""
        contract = self._operator.contracts[self._edition]
        for rule in dict.fromkeys(rule for rules in contract.values() for rule in rules):
            if rule.needed_before is not None:
                continue
            pair = examples(self._operator, rule, self._generator, self._edition)
            name = rule.id.replace(".", "_").lower()
            for applied, (level, of_class) in zip(pair, (_KEPT, _BROKEN), strict=True):
                if rule.id in {each.id for each in applied.broken_rules} or (
                    of_class is Class.KEPT and applied.admitted_by_onnx
                ):
                    word = of_class.value.rpartition(" ")[2]
                    yield Case(f"{name}_{word}", applied, level, of_class, rule)

    def of_neighbors(self) -> Iterator[Case]:
        """The node that keeps all rules, with one number that is another."""
        if self._operator.name in UNRULED:
            return
        name, base = next(self._variants(next(self._types())))
        for what, applied in neighbors(base):
            if not (self._operator.name == "Range" and _is_far(applied)):
                level = Level.NEGATIVE if applied.broken_rules else Level.CONFORMANCE
                yield Case(f"{name}_near_{what.lower()}", applied, level, Class.NEIGHBOR)

    def of_variants(self) -> Iterator[Case]:
        """What the guidelines of tests ask for beside types, rules and special values."""
        kinds = [*dict.fromkeys(self._types())]
        for each in variants(self._operator, kinds, self._generator, self._edition):
            applied, of_class = each.applied, each.of_class
            level = _LEVELS.get(of_class, Level.CONFORMANCE)
            if applied.broken_rules:
                level = Level.NEGATIVE
            name = f"{self._operator.name.lower()}_{each.name}"
            yield Case(name, applied, level, of_class, note=each.note)


_LEVELS = {Class.PROPERTY: Level.RANDOM, Class.ACCUMULATOR: Level.INTEGERS}
"""The levels of variants that are not of conformance."""


def _special_case(name: str, applied: Applied, level: Level, of_class: Class) -> Case:
    if applied.broken_rules:
        return Case(f"{name}_broken", applied, Level.NEGATIVE, of_class)
    return Case(name, applied, level, of_class)


_MOST_NUMBERS = 1 << 16
"""How many numbers a Range has at most."""


def _is_far(applied: Applied) -> bool:
    """Whether a Range would have too many numbers."""
    start, limit, step = (float(each) for each in applied.given.values())
    return bool(step) and not abs((limit - start) / step) < _MOST_NUMBERS


def _type(array: Array) -> ElementType:
    return ELEMENT_TYPES[array.dtype]


def _divided(applied: Applied) -> tuple[Sequence[Applied], Sequence[Applied]]:
    """Of elements of vectors, those that keep all rules together, and some of the others alone."""
    operator, names = OPERATORS[applied.operator], applied.names
    operands = [*applied.given.values()]
    found: dict[str, list[int]] = {}
    remaining = np.arange(operands[0].size)
    facts = [applied.fact(n, a) for n, a in applied.given.items()]
    for rule in operator.rules_of_node(applied.edition, facts, applied.plain, applied.opset):
        while rule.requirement.subject is Subject.ELEMENTS and rule.needed_before is None:
            broken = rule.violation(names, [operand[remaining] for operand in operands])
            if broken is None or broken.index is None:
                break
            place = broken.index[0]
            found.setdefault(rule.id, []).append(int(remaining[place]))
            remaining = np.delete(remaining, place)
    kept = [replace(applied, operands=[o[remaining] for o in operands])] if remaining.size else []
    chosen = [
        places[k]
        for places in found.values()
        for k in sorted({*np.linspace(0, len(places) - 1, _REFUSED_ELEMENTS, dtype=int).tolist()})
    ]
    return kept, [replace(applied, operands=[o[[k]] for o in operands]) for k in chosen]
