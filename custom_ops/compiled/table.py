"""The table of the compiled kernels: their operators, types and rules, from the profile, as C++.

`scripts/compiled_operators.py` writes it to `operators.inc`. The library says of which table it was
made, so that one of another profile is refused.
"""

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

from sonnx_ort.custom_ops.compiled.catalog import (
    COMPILED_OPERATORS,
    CheckedRule,
    CompiledOperator,
    compiled_name,
)
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule

_TYPES = {
    ElementType.FLOAT16: "Float16",
    ElementType.BFLOAT16: "Bfloat16",
    ElementType.FLOAT: "float",
    ElementType.DOUBLE: "double",
    ElementType.BOOL: "Bool",
}
"""The C++ types; those of integers are their names with `_t`."""


def table() -> str:
    """The text of `operators.inc`."""
    lines = "".join(f"{line}\n" for line in _lines())
    return f'{lines}\nconst char table_digest[] = "{table_digest()}";\n'


@functools.cache
def table_digest() -> str:
    """The SHA-256 of the table without this digest."""
    return hashlib.sha256("\n".join(_lines()).encode()).hexdigest()


def _lines() -> Iterator[str]:
    yield "// Written by scripts/compiled_operators.py from the profile; do not edit."
    yield "const Rule& broadcast_rule() {"
    yield f"  static const Rule rule{_rule(E1)};"
    yield "  return rule;"
    yield "}"
    yield ""
    yield "std::vector<Operator> all_operators() {"
    yield "  std::vector<Operator> all;"
    for compiled in COMPILED_OPERATORS.values():
        for family in compiled.rules:
            yield from _family(compiled, family)
    yield from _broadcast()
    yield "  return all;"
    yield "}"


def _family(compiled: CompiledOperator, family: Family) -> Iterator[str]:
    operator = compiled.operator
    types = ", ".join(_type(kind) for kind in compiled.types if kind.family is family)
    result = "T" if operator.result_type is None else _type(ElementType(operator.result_type))
    operands = _texts(operator.operands)
    yield f"  for_types<{types}>([&](auto type) {{"
    yield "    using T = typename decltype(type)::Element;"
    names = f'"{compiled_name(operator)}", "{operator.name}", {operands}'
    yield f"    Operator made = make<T, {result}>({names}, {{"
    for edition, rules in compiled.rules[family].items():
        yield from _contract(compiled, edition, rules, result)
    yield "    });"
    yield from _standard(compiled)
    yield "    all.push_back(std::move(made));"
    yield "  });"


def _standard(compiled: CompiledOperator) -> Iterator[str]:
    """What ONNX Runtime has to know to compute an operator."""
    operator, standard = compiled.operator, compiled.standard
    for name, other in operator.operand_types.items():
        index = operator.operands.index(name)
        yield f"    made.types[{index}] = type_of<{_type(ElementType(other))}>();"
    if standard is not None:
        named = map(_texts, (standard.parameters, standard.numbers, standard.texts))
        yield f"    made.standard = {{{', '.join(named)}}};"


def _texts(texts: Iterable[str]) -> str:
    return f"{{{', '.join(map(json.dumps, texts))}}}"


def _broadcast() -> Iterator[str]:
    """Broadcast, which has rules about shapes only, the same for all types."""
    types = ", ".join(map(_type, ElementType))
    yield f"  for_types<{types}>([&](auto type) {{"
    yield "    using T = typename decltype(type)::Element;"
    name = f'"{compiled_name(BROADCAST)}", "{BROADCAST.name}"'
    yield f"    all.push_back(make<T, T>({name}, {{}}, {{}}));"
    yield "  });"


def _contract(
    compiled: CompiledOperator, edition: Edition, rules: Sequence[CheckedRule], result: str
) -> Iterator[str]:
    yield f'      {{"{edition.value}", {{'
    for checked in rules:
        if checked.breakable:
            yield f"        {_rule(checked.rule, checked)},"
    checks = [each.check for each in rules if each.check is not None]
    function = compiled.operator.name if compiled.standard is None else "Check"
    loops = f"loops<{', '.join([function, 'T', result, *checks])}>()"
    yield f"      }}, {'{}' if function == 'Check' and not checks else loops}}},"


def _rule(rule: Rule, checked: CheckedRule | None = None) -> str:
    texts = [rule.id, rule.sentence, "" if checked is None else checked.finding]
    check = None if checked is None else checked.check
    broken = "nullptr" if check is None else f"broken<{check}, T>"
    return f"{{{', '.join(json.dumps(text) for text in texts)}, {broken}}}"


def _type(kind: ElementType) -> str:
    return _TYPES.get(kind, f"{kind.value}_t")
