"""What the manifest of a suite says of a case: where it comes from, and what is right of it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sonnx_ort.facts.schemas import known_schema
from sonnx_ort.meaning import Result
from sonnx_ort.meaning.node import ELEMENT_TYPES
from sonnx_ort.meaning.origins import origins
from sonnx_ort.meaning.results import Copies
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.source import Source, Standing, draft_of
from sonnx_ort.vectors.applied import GUIDELINES
from sonnx_ort.vectors.cases import Case

_FLOATS = frozenset(each for each in ElementType if each.family is Family.FLOAT)
_INTEGERS = frozenset(each for each in ElementType if each.family is Family.INTEGER)
_SIGNED = frozenset(each for each in _INTEGERS if each.value.startswith("int"))
_BYTES = frozenset((ElementType.INT8, ElementType.UINT8))

FUNCTION_TAGS: Mapping[str, Mapping[str, frozenset[ElementType]]] = {
    "Abs": {"E_ABS_FLOAT_FUNC_010": _FLOATS, "E_ABS_INT_FUNC_010": _SIGNED},
    "Acos": {"E_ACOS_FLOAT_FUNC_0010": _FLOATS},
    "Add": {"E_ADD_FLOAT_FUNC_0010": _FLOATS, "E_ADD_INT_FUNC_0010": _INTEGERS},
    "Conv": {"E_CONV_FLOAT_FUNC_0010": _FLOATS},
    "ConvInteger": {"E_CONVINTEGER_INT_FUNC_0010": _BYTES},
    "DequantizeLinear": {
        "E_DEQUANTIZELINEAR_FLOAT_FUNC_0010": frozenset((ElementType.INT32,)),
    },
    "Div": {"E_DIV_FLOAT_FUNC_0010": _FLOATS, "E_DIV_INT_FUNC_0010": _INTEGERS},
    "Less": {"E_LESS_INT_FUNC_010": _INTEGERS},
    "Mul": {"E_MUL_FLOAT_FUNC_0010": _FLOATS, "E_MUL_INT_FUNC_0010": _INTEGERS},
    "Neg": {"E_NEG_FLOAT_FUNC_0010": _FLOATS, "E_NEG_INT_FUNC_0010": _SIGNED},
    "QuantizeLinear": {
        "E_QUANTIZELINEAR_UINT8_FUNC_0010": frozenset((ElementType.FLOAT,)),
    },
    "Sin": {"E_SIN_FLOAT_FUNC_0010": _FLOATS},
    "Sub": {"E_SUB_FLOAT_FUNC_0010": _FLOATS, "E_SUB_INT_FUNC_0010": _INTEGERS},
}
"""The tags that drafts give to the function of an operator, with the types that each is of.

The section of Abs on unsigned integers and that of Less on floats have none.
"""


def tag_of(case: Case, rule: Rule | None) -> str | None:
    """The document's tag of a rule or, without a rule, of the operator's function."""
    if rule is not None:
        stated = rule.source.standing is Standing.STATED
        return rule.source.later_tag or rule.source.tag if stated else None
    if case.applied.edition is not Edition.TYPED:
        return None
    tags = FUNCTION_TAGS.get(case.applied.operator, {})
    return next((tag for tag, kinds in tags.items() if case.kind in kinds), None)


def described(case: Case, results: tuple[Result, ...]) -> dict[str, object]:
    """The entry of a case, but for its id and its files."""
    applied, example = case.applied, case.example
    rule = None if example else case.rule or next(iter(applied.broken_rules), None)
    document, section = _source(case, rule)
    return {
        "operator": applied.operator,
        "opset": applied.opset,
        "edition": applied.edition.value,
        "type": case.kind.value,
        "shapes": {name: [*array.shape] for name, array in applied.given.items()},
        "attributes": {name: _shown(value) for name, value in applied.attributes.items()},
        "level": case.level.value,
        "class": case.of_class.value,
        "guideline": GUIDELINES[case.of_class],
        "rule": case.rule.id if case.rule else None,
        "basis": rule and rule.basis.value,
        "document": document,
        "section": section,
        "tag": tag_of(case, rule),
        "note": case.note or None,
        "printed": [*_printed(case)] or None,
        "expectation": expectation(case, results),
    }


def _source(case: Case, rule: Rule | None) -> tuple[str | None, str | None]:
    """The document that a case is about, and the section of it."""
    name = case.applied.operator
    if case.example is not None:
        return draft_of(name).title, case.example.stands
    if rule is not None:
        own = rule.source.standing is Standing.OWN
        return (None, None) if own else (rule.source.document, rule.source.section)
    if (source := _first_stated(name)) is not None:
        return source.document, None
    since = known_schema(name, case.applied.opset).since_version
    return f"ONNX {name}, version {since}", None


def _first_stated(operator: str) -> Source | None:
    if operator not in OPERATORS:
        return None
    sources = (each.source for each in OPERATORS[operator].all_rules())
    return next((each for each in sources if each.standing is Standing.STATED), None)


def _printed(case: Case) -> Iterator[object]:
    """The numbers that the document of an example prints, of each result."""
    for each in case.example.printed if case.example else ():
        yield _shown(each)


def _shown(value: Any) -> object:
    """An attribute or a number in JSON; of a tensor type and shape."""
    match value:
        case np.ndarray():
            return f"{ELEMENT_TYPES[value.dtype]} {value.shape}"
        case tuple() | list():
            return [_shown(each) for each in value]
        case float() if not np.isfinite(value):
            return str(value)
    return value


def origins_of(bound: str) -> list[str]:
    """Where a bound comes from: a document, a proof, a measurement; or it is chosen here.

    Raises:
        ValueError: Its words do not say it.
    """
    found = origins(bound)
    if not found:
        raise ValueError(f"the bound '{bound}' has no known origin")
    return [origin.value for origin in found]


def expectation(case: Case, results: tuple[Result, ...]) -> dict[str, object]:
    """What is right of a case: of its results, or which rules refuse it."""
    rules = [rule.id for rule in case.applied.broken_rules]
    if case.refused:
        return {"kind": "refused", "rules": rules}
    made: dict[str, object]
    if all(each.is_single for each in results):
        moved = all(isinstance(each.admitted, Copies) for each in results)
        made = {"kind": "exact", "compare": "bits" if moved else "values"}
    else:
        bounds = dict.fromkeys(r.bound for r in results if not r.is_single)
        found = sorted({each for bound in bounds for each in origins_of(bound)})
        made = {"kind": "interval", "bound": "; ".join(bounds), "origin": found}
    signs = dict.fromkeys(each.zeros for each in results if each.zeros)
    if signs and made.get("compare") != "bits":
        made["zeros"] = "; ".join(signs)
    return {**made, "rules": rules} if rules else made
