"""Which operators have compiled kernels, on which types, and what they check.

An operator has them for the types whose rules C++ knows, if a struct of `arithmetic.h` computes it,
or if ONNX Runtime does so on behalf of the kernel.

`scripts/compiled_operators.py` writes their table as C++, to `operators.inc`. The library says of
which table it was made, so that one of another profile is refused.
"""

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sonnx_ort.custom_ops.compiled.guards import guarded_rules
from sonnx_ort.custom_ops.definition import KERNEL_TYPES
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.layout import BROADCAST, E1
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.elements import INT32, WITHIN_INT32, OnElements
from sonnx_ort.profile.requirements.quotients import (
    NONZERO,
    NOT_SMALLEST,
    WITHIN_WIDTH,
    InfinityForZeroDivisor,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import Rule

_PAIR = 2

FUNCTIONS = frozenset(
    {
        *("Abs", "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater"),
        *("GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mul", "Neg", "Or", "Reciprocal"),
        *("Sqrt", "Sub", "Xor"),
    }
)
"""The operators that a struct of `arithmetic.h` computes, which has the same name."""

CHOOSING = frozenset({"Where"})
"""The operators that copy elements of two operands, with their bits, as a condition says."""


@dataclass(frozen=True, slots=True)
class StandardKernel:
    """How a kernel has ONNX Runtime compute an operator, by `InvokeOp`.

    Attributes:
        parameters: What the schema of ONNX calls the type of its operands.
        numbers: The attributes of its nodes that are integers.
        texts: Those that are texts.
        types: The types that it is asked for. Others it computes by a function of ONNX, or after a
            conversion.
        oldest_version: The first version of the operator with these parameters.
    """

    parameters: tuple[str, ...] = ("T",)
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    types: tuple[ElementType, ...] = KERNEL_TYPES
    oldest_version: int = 1

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of its nodes."""
        return (*self.numbers, *self.texts)


STANDARD_KERNELS: Mapping[str, StandardKernel] = MappingProxyType(
    {
        "BitShift": StandardKernel(texts=("direction",)),
        "Mod": StandardKernel(numbers=("fmod",)),
        "Pow": StandardKernel(("T", "T1"), oldest_version=12),
        "PRelu": StandardKernel(types=(ElementType.FLOAT,)),
    }
)
"""The operators that ONNX Runtime computes.

Their last bits differ between implementations, or the sign of a zero does, or they depend on
attributes.
"""


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """A rule as a compiled kernel checks it.

    Attributes:
        rule: The rule.
        check: The struct of `arithmetic.h` that checks elements; None for equal shapes.
        finding: What an element is that breaks the rule, as a clause.
        breakable: Whether an element can break it; otherwise it only decides the result.
        of_each: Whether it is about the elements of each operand by itself.
    """

    rule: Rule
    check: str | None
    finding: str = ""
    breakable: bool = True
    of_each: bool = False


@dataclass(frozen=True, slots=True)
class CompiledOperator:
    """An operator with compiled kernels.

    Attributes:
        operator: The operator of the profile.
        rules: What its kernels check, by family of types and edition.
        types: The types of its kernels.
        standard: How ONNX Runtime computes it; None if C++ does.
    """

    operator: Operator
    rules: Mapping[Family, Mapping[Edition, Sequence[CheckedRule]]]
    types: Sequence[ElementType]
    standard: StandardKernel | None

    def takes(self, operands: int) -> bool:
        """Whether its kernels take this number of operands."""
        any_number = self.operator.repeated_operand is not None
        return operands > 0 if any_number else operands == len(self.operator.operands)


def compiled_name(operator: Operator) -> str:
    """Name an operator in the domain `sonnx.compiled`, as no operator of ONNX is named."""
    return f"Checked{operator.name}"


def _compiled(operator: Operator) -> CompiledOperator | None:
    standard = STANDARD_KERNELS.get(operator.name)
    if operator.name not in FUNCTIONS | CHOOSING and standard is None:
        return None
    types = [kind for kind in ElementType if standard is None or kind in standard.types]
    rules = {
        family: known
        for family in sorted({kind.family for kind in types} & operator.families)
        if (known := _known_rules(operator, family)) is not None
    }
    return CompiledOperator(operator, rules, [t for t in types if t.family in rules], standard)


def _known_rules(
    operator: Operator, family: Family
) -> Mapping[Edition, Sequence[CheckedRule]] | None:
    """How C++ checks an operator's rules on a type family; None if it does not know one of them.

    It checks elements of two operands at most.
    """
    known = {}
    for edition in Edition:
        checked = [
            _checked(rule, family) for rule in operator.rules(edition, family) if rule.in_run
        ]
        known[edition] = [each for each in checked if each is not None]
        of_elements = any(each.check is not None for each in known[edition])
        if len(known[edition]) < len(checked) or (of_elements and len(operator.operands) > _PAIR):
            return None
    return known


_CHECKS: Mapping[tuple[int, object], str] = {
    (1, NONZERO): "NonZeroDivisor",
    (0, NOT_SMALLEST): "NotSmallest",
    (1, WITHIN_WIDTH): "WithinWidth",
}
"""The structs that check demands on elements, by the place of the operand and the demand."""


def _checked(rule: Rule, family: Family) -> CheckedRule | None:
    """How C++ checks a rule; None if it does not know it."""
    requirement = rule.requirement
    match requirement:
        case SameShape():
            return CheckedRule(rule, None)
        case RepresentableQuotient():
            name = "RepresentableQuotient" if requirement.bits == 8 else "WideQuotient"
            return CheckedRule(rule, name, requirement.finding)
        case InfinityForZeroDivisor():
            breakable = family is not Family.FLOAT
            return CheckedRule(rule, "InfinityForZeroDivisor", requirement.finding, breakable)
        case OnElements() if requirement == WITHIN_INT32:
            return CheckedRule(rule, "WithinInt32", f"is {INT32.outside}", of_each=True)
        case OnElements(numbers=numbers, position=place) if (place, numbers) in _CHECKS:
            return CheckedRule(rule, _CHECKS[place, numbers], requirement.finding)
        case _:
            return None


COMPILED_OPERATORS: Mapping[str, CompiledOperator] = MappingProxyType(
    {
        name: compiled
        for name, operator in OPERATORS.items()
        if (compiled := _compiled(operator)) is not None
    }
)
"""The operators with compiled kernels, by name."""


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
    yield from _guard()
    yield "  return all;"
    yield "}"
    yield ""
    yield "const std::vector<RuleText>& guarded_rules() {"
    yield "  static const std::vector<RuleText> all{"
    for rule in guarded_rules():
        yield f"      {{{rule.code}, {json.dumps(rule.id)}, {json.dumps(rule.sentence)}}},"
    yield "  };"
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
    """What a kernel and ONNX Runtime have to know of an operator's operands, to compute it."""
    operator, standard = compiled.operator, compiled.standard
    if operator.repeated_operand is not None:
        yield f"    made.repeated = {json.dumps(operator.repeated_operand)};"
    for name, other in operator.operand_types.items():
        index = operator.operands.index(name)
        yield f"    made.types[{index}] = type_of<{_type(ElementType(other))}>();"
    if standard is not None:
        named = map(_texts, (standard.parameters, standard.numbers, standard.texts))
        yield f"    made.standard = {{{', '.join(named)}}};"
    if operator.name in CHOOSING:
        yield "    made.choose = choose<T>;"


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


def _guard() -> Iterator[str]:
    """Guard, which gives a value of any type on; other operands are of any types."""
    yield f"  for_types<{', '.join(map(_type, ElementType))}>([&](auto type) {{"
    yield "    all.push_back(make_guard<typename decltype(type)::Element>());"
    yield "  });"


def _contract(
    compiled: CompiledOperator, edition: Edition, rules: Sequence[CheckedRule], result: str
) -> Iterator[str]:
    yield f'      {{"{edition.value}", {{'
    for checked in rules:
        if checked.breakable:
            yield f"        {_rule(checked.rule, checked)},"
    checks = [each.check for each in rules if each.check is not None]
    name = compiled.operator.name
    function = name if name in FUNCTIONS else "Check"
    loops = f"loops<{', '.join([function, 'T', result, *checks])}>()"
    yield f"      }}, {'{}' if function == 'Check' and not checks else loops}}},"


def _rule(rule: Rule, checked: CheckedRule | None = None) -> str:
    texts = [rule.id, rule.sentence, "" if checked is None else checked.finding]
    check = None if checked is None else checked.check
    broken = "nullptr" if check is None else f"broken<{check}, T>"
    of_each = ", true" if checked is not None and checked.of_each else ""
    return f"{{{', '.join(json.dumps(text) for text in texts)}, {broken}{of_each}}}"


def _type(kind: ElementType) -> str:
    return _TYPES.get(kind, f"{kind.value}_t")
