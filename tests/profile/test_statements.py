"""Each rule decides as the plain statement of its sentence does, which shares no code with it.

`scripts/statements.py` has the statements. Guards, the rules of soundness tests and the bundled
models are held against them too.
"""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import onnx
import pytest
from restrictions import stated_violation
from statements import BY_NODE, IN_RUNS, kept_by_node

from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import Attributes, Rule, Status, Subject
from sonnx_ort.terms.operand import Operand
from sonnx_ort.vectors.examples import read
from support.operator_cases import OPERATOR_CASES
from support.varied_operands import examples, is_of, varied

_TRIALS = 150
_OF_NO_OPERATOR = {"Graph", "Contract", "Broadcast"}

_OF_ANY_OPERAND = {"Max.int.C1", "Min.int.C1"}
"""Rules whose statements do not say which operand breaks them."""

_INTEGERS = (-1, 0, 1, 2, 3)
_FLOATS = (-1.0, 0.0, 1e-5, 0.5, 1.0, 2.0, float("nan"), float("inf"))
_TEXTS = ("NOTSET", "VALID", "SAME_UPPER", "forward", "reverse", "bidirectional", "")
_LISTS = (
    *((), (1,), (2, 1), (1, 0), (-1, 1), (1, 1, 1)),
    *((0, 0, 0, 0), (0, 0, 0, 1), (0, -1, 0, 0), (1, 1), (0.0, 0.0, 0.0, 0.0)),
)
_CELLS = ("Sigmoid", "Tanh", "Tanh"), ("Relu", "Tanh", "Tanh"), ("Tanh", "Tanh", "Tanh")
_NAMES = ((), ("Sigmoid",), *_CELLS, *(a + b for a, b in itertools.product(_CELLS, _CELLS)))

_VALUES: Mapping[Any, Sequence[Any]] = {
    onnx.defs.OpSchema.AttrType.INT: _INTEGERS,
    onnx.defs.OpSchema.AttrType.FLOAT: _FLOATS,
    onnx.defs.OpSchema.AttrType.STRING: _TEXTS,
    onnx.defs.OpSchema.AttrType.INTS: _LISTS,
    onnx.defs.OpSchema.AttrType.STRINGS: _NAMES,
}
"""Values of attributes; of other types, None stands for any."""


def test_each_rule_that_a_run_or_a_node_decides_has_a_statement() -> None:
    own = [r for r in RULES.values() if r.id.partition(".")[0] not in _OF_NO_OPERATOR]
    in_runs = {r.id for r in own if r.in_run and r.requirement.subject is not Subject.EQUAL_SHAPES}
    assert in_runs == {*IN_RUNS}
    assert {r.id for r in own if r.requirement.subject is Subject.ATTRIBUTES} == {*BY_NODE}


CASES = [pytest.param(rule, text, id=f"{rule.id}: {text}") for rule, text in examples()]


@pytest.mark.parametrize(("rule", "text"), CASES)
def test_run_breaks_a_rule_where_its_sentence_says_so(rule: Rule, text: str) -> None:
    rng = random.Random(rule.id)  # noqa: S311 - no cryptography
    operands, attributes = read(text)
    bound, names = rule.of_node(attributes), [operand.name for operand in operands]
    own = bound.select_operands(names, names)
    if rule.requirement.subject is Subject.OWN_SHAPE:
        operands = [replace(operand, constant=None) for operand in operands]
    decided = set()
    for kind in itertools.islice(itertools.cycle(_kinds(rule)), _TRIALS):
        arrays = varied(rng, rule, operands, kind, of_one_shape=_of_one_shape(rule))
        given = dict(zip(own, bound.select_operands(names, arrays), strict=True))
        found = bound.violation(names, arrays)
        stated = stated_violation(rule.id, given, {**attributes, "version": 1})
        told = f"{attributes} {given}: {found}, and {stated}"
        assert (found is None) == (stated is None), told
        decided.add(found is None)
        if found is not None and stated is not None and rule.id not in _OF_ANY_OPERAND:
            assert found.index == stated.index, told
            assert repr(found.values) == repr(stated.values), told
    assert decided == {True, False}


def _kinds(rule: Rule) -> list[ElementType]:
    """The types that a rule is about, of the kernels of its operator."""
    if rule.requirement.subject is Subject.OWN_SHAPE:
        return [ElementType.FLOAT]
    kernels = OPERATOR_CASES[rule.id.partition(".")[0]].kernels
    return [kind for kind in kernels if is_of(kind, rule)]


def _of_one_shape(rule: Rule) -> bool:
    """Whether another rule demands equal shapes, so that this one is told of such operands."""
    return OPERATORS[rule.id.partition(".")[0]].elementwise


@pytest.mark.parametrize("rule", [RULES[name] for name in BY_NODE], ids=list(BY_NODE))
def test_node_breaks_a_rule_where_its_sentence_says_so(rule: Rule) -> None:
    decided = set()
    for attributes, given in _nodes(rule):
        known = [Operand(name, name, "input") for name in given]
        judgement, _ = rule.of_node(attributes).judge(given, known)
        kept = kept_by_node(rule.id, dict.fromkeys(given), attributes)
        assert (judgement.status is not Status.VIOLATED) == kept, f"{attributes} {given}"
        decided.add(kept)
    assert decided == {True, False}


def _nodes(rule: Rule) -> Iterator[tuple[Attributes, Sequence[str]]]:
    """Attributes of all kinds that the operator has, and the inputs that are given."""
    for given in ((), rule.operands or ()):
        values = [[(), *((name, v) for v in _values(rule, name))] for name in rule.attributes]
        for chosen in itertools.product(*values):
            yield dict(each for each in chosen if each), given


def _values(rule: Rule, name: str) -> Sequence[Any]:
    """Some values of an attribute, and None for one of another type; few, if there are others."""
    operator = rule.id.partition(".")[0]
    versions = range(onnx.defs.onnx_opset_version(), 0, -1)
    schemas = (onnx.defs.get_schema(operator, version) for version in versions)
    kind = next(s.attributes[name].type for s in schemas if name in s.attributes)
    values = _VALUES.get(kind, ())
    return (*values[: 3 if len(rule.attributes) > 1 else None], None)
