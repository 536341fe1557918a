"""Faults in the code that entries name, one for each rule and place in the code.

A rule is switched off: nothing that is asked of its requirement finds a violation any more. A rule
on types has a second fault, by which it admits every type. A function gives another result, or does
nothing if it gives none. Faults are made in a process that has imported all modules, and stay.
"""

import builtins
import copy
import dataclasses
import enum
import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import onnx
from mutation.process import package_caches

from sonnx_ort import models
from sonnx_ort.analysis import findings
from sonnx_ort.analysis.obligation import Finding
from sonnx_ort.models import tensor_json
from sonnx_ort.profile import contract_rules, graph
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.graph import FINITE, OUTPUTS, SINGLE_ASSIGNMENT, VERSIONS, OfGraph
from sonnx_ort.profile.requirements.attributes import DecidedByAttributes
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Requirement, Rule, proved
from tracing.entries import Entry, requirement

OFF, ANY_TYPE = "off", "any type"
"""The faults of a rule: nothing violates it, or only its list of types is ignored."""

DECIDED_BY_LOADING = frozenset({rule.id for rule in (VERSIONS, SINGLE_ASSIGNMENT, OUTPUTS)})
"""Rules that nothing can violate later, because other models are not loaded; no fault is theirs."""

EXAMPLES = "scripts/model_builders/"
"""What makes the bundled models; its fault is that these have other numbers, or no graph."""

SOMETHING = object()
"""What is given in the place of None."""

_EVERY_TYPE = tuple(name.lower() for name, _ in onnx.TensorProto.DataType.items()[1:])

_FAULT = "__fault__"
_METHODS = ("judge", "judge_results", "violation", "violation_of", "of_node")


class NoFault(Exception):  # noqa: N818 - reads as what it is
    """There is no fault of this name; the message says why."""


def faults_of_rule(rule: str) -> tuple[str, ...]:
    """The names of the faults of a rule."""
    if rule in DECIDED_BY_LOADING:
        return ()
    requirement = RULES[rule].requirement
    listed = isinstance(requirement, SameNumericType)
    return tuple(f"{rule} {kind}" for kind in (OFF, ANY_TYPE) if kind is OFF or listed)


def faults_of(entry: Entry) -> tuple[str, ...]:
    """The names of the faults that the tests of an entry have to notice, each of them."""
    named = [fault for rule in entry.rules for fault in faults_of_rule(rule)]
    operator = entry.id.partition(".")[0]
    # The table has a function for each operator.
    named += [f"{p}[{operator}]" if p.endswith(":ARITHMETIC") else p for p in entry.code]
    return tuple(dict.fromkeys(named))


def file_of(fault: str) -> str:
    """The file that a fault is in, from the repository's root: for a rule, that of its class."""
    place = fault.partition(" ")[0]
    return (requirement(place) if place in RULES else place).partition(":")[0]


def in_words(fault: str) -> str:
    """What a fault is, as a clause in Markdown."""
    place, _, kind = fault.partition(" ")
    if place not in RULES:
        return f"`{place}` does otherwise"
    return f"`{place}` is switched off" if kind == OFF else f"`{place}` admits any type"


_MADE: dict[int, list[object]] = {}
"""The requirements that were made for nodes of another one, by its id."""


def note_requirements() -> None:
    """Note from now on which requirements are made of those of rules, for a fault to be in all."""
    own = {type(rule.requirement) for rule in RULES.values()}
    for kind in dict.fromkeys(each for one in own for each in one.__mro__):
        if (method := vars(kind).get("of_node")) is not None:
            setattr(kind, "of_node", _noting(method))  # noqa: B010 - not all classes have it


def _noting(method: FunctionType) -> Callable[..., Any]:
    @functools.wraps(method)
    def noting(self: object, attributes: Mapping[str, Any]) -> Any:
        made = method(self, attributes)
        _MADE.setdefault(id(self), []).append(made)
        return made

    return noting


def make(fault: str) -> None:
    """Put a fault into this process.

    Raises:
        NoFault: There is none of this name.
    """
    # What was made and kept before has no fault.
    for clear in package_caches():
        clear()
    place, _, kind = fault.partition(" ")
    if place in RULES:
        _switch_off(RULES[place]) if kind == OFF else _admit_all(RULES[place])
        return
    path, _, name = place.partition(":")
    if path.startswith(EXAMPLES):
        # What these build lies in files.
        for read in (models.load, tensor_json.decode):
            _changed(read)
        return
    owner: Any = _module(path)
    name, _, key = name.removesuffix("]").partition("[")
    *outer, name = name.split(".")
    for each in outer:
        owner = getattr(owner, each)
    found = vars(owner).get(name)
    if key and isinstance(found, Mapping):
        found = found.get(key)
    if not _changed(found):
        raise NoFault(f"{fault}: there is no function, method or table of this name")


def _changed(found: Any) -> bool:
    """Whether what a name means could be changed, for all who have imported it."""
    if isinstance(found, type) and callable(getattr(found, "judge", None)):
        _deafen(found, lambda _: True)
    elif (function := _function_of(found)) is not None:
        _exchange(function, _faulty)
    elif found is not None and (other := altered(found)) is not None:
        _replace_in_package(found, other)
    else:
        return False
    return True


def _module(path: str) -> ModuleType:
    """The module of a file, under the name by which others import it."""
    name = path.removeprefix("scripts/").removesuffix(".py").replace("/", ".")
    own = path.startswith(("scripts/", "sonnx_ort/"))
    return importlib.import_module(name if own else f"sonnx_ort.{name}")


def _function_of(found: object) -> FunctionType | None:
    """The function in a method, a property or a cache."""
    match found:
        case property(fget=FunctionType() as function):
            return function
        case classmethod() | staticmethod():
            return _function_of(found.__func__)
        case functools.cached_property():
            return _function_of(found.func)
        case FunctionType():
            return found
    inner = getattr(found, "__wrapped__", None)
    return inner if isinstance(inner, FunctionType) else None


def _exchange(function: FunctionType, made: Callable[[FunctionType], Callable[..., Any]]) -> None:
    """Have a function do what is made of it, whoever has imported it under whatever name."""
    same = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    same.__kwdefaults__ = function.__kwdefaults__
    same.__annotations__ = function.__annotations__
    fault = f"{_FAULT}{id(same)}"
    setattr(builtins, fault, made(same))
    # Code is exchanged only for code with as many free variables.
    cells = ", ".join(function.__code__.co_freevars)
    text = f"""
def outer({cells}):
    def broken(*arguments, **named):
        {cells or None}
        return {fault}(*arguments, **named)
    return broken.__code__
"""
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102 - the text above
    code = scope["outer"](*function.__code__.co_freevars)
    function.__defaults__ = function.__kwdefaults__ = None
    function.__code__ = code


def _faulty(function: FunctionType) -> Callable[..., Any]:
    nothing = function.__annotations__.get("return", "") is None

    @functools.wraps(function)
    def faulty(*arguments: Any, **named: Any) -> Any:
        return None if nothing else altered(function(*arguments, **named))

    return faulty


def altered(value: Any) -> Any:
    """Another value, of the same type as far as there is a simple one."""
    for kind, change in _CHANGES.items():
        if isinstance(value, kind):
            return change(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _altered_dataclass(value)
    return SOMETHING if value is None else _one_more(value)


def _one_more(value: Any) -> Any:
    """Twice a number of another package, and 1; None of what is no number."""
    try:
        return value + value + 1
    except (TypeError, ValueError, AttributeError):
        return None


def _altered_member(value: enum.Enum) -> enum.Enum:
    members = list(type(value))
    return members[(members.index(value) + 1) % len(members)]


def _altered_sequence(value: Any) -> Any:
    """A list or tuple of the same type, of other elements; None if none has another value."""
    make = getattr(type(value), "_make", type(value))
    others = [altered(each) for each in value]
    if all(other is None for other in others):
        return None
    return make([one if other is None else other for one, other in zip(value, others, strict=True)])


def _altered_array(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array in which each element is another; a longer one if there is no element."""
    if not value.size:
        return np.zeros((*value.shape[:-1], 1), value.dtype)
    if value.dtype == object:
        parts = [altered(each) for each in value.ravel().tolist()]
        changed = np.empty(value.shape, object)
        changed.ravel()[:] = parts
        return changed
    bits = value.view(f"u{value.dtype.itemsize}") if value.dtype.kind in "fV" else value
    return np.asarray(~bits if value.dtype.kind in "fViu" else np.logical_not(value)).view(
        value.dtype
    )


def _altered_dataclass(value: Any) -> Any:
    """One with other values in all fields that have simple ones; None if there is none."""
    others = {f.name: altered(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
    simple = {name: v for name, v in others.items() if v is not None and v is not SOMETHING}
    changed = copy.copy(value)
    for name, other in simple.items():
        object.__setattr__(changed, name, other)
    return changed if simple else None


_CHANGES: Mapping[type | tuple[type, ...], Callable[[Any], Any]] = {
    (bool, np.bool_): lambda value: not value,
    enum.Enum: _altered_member,
    (int, Fraction, np.number): lambda value: value + type(value)(1),
    float: lambda value: value + 1.0 if value - value == 0 else 0.0,
    str: lambda value: f"{value}?",
    np.ndarray: _altered_array,
    (tuple, list): _altered_sequence,
    (set, frozenset): lambda value: type(value)(() if value else (SOMETHING,)),
    Iterator: lambda value: iter([altered(each) for each in value]),
}
"""How a value is changed, by its type; the first one counts."""


def _replace_in_package(old: object, new: object) -> None:
    """Give the name of a table another meaning, in each module that has imported it."""
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()) if hasattr(module, "__dict__") else []:
            if value is old and not name.startswith("__"):
                setattr(module, name, new)


def _admit_all(rule: Rule) -> None:
    """Have a rule on types admit every type; it still compares types."""
    requirement = _of_its_own(rule)
    assert isinstance(requirement, SameNumericType)  # noqa: S101 - only such rules have the fault
    # Tests may hold it already.
    object.__setattr__(requirement, "kinds", _EVERY_TYPE)


def _switch_off(rule: Rule) -> None:
    """Have nothing that is asked of a rule find a violation, whoever asks."""
    if isinstance(rule.requirement, OfGraph):
        _lose_findings(rule)
        return
    requirement = _of_its_own(rule)
    off = {id(each): each for each in (requirement, *_MADE.get(id(requirement), ()))}
    slot = Rule.__dict__["requirement"]

    def of_rule(each: Rule) -> object:
        return _noted(off, slot.__get__(each), if_so=each.id == rule.id)

    described: Any = property(of_rule, slot.__set__)
    type.__setattr__(Rule, "requirement", described)
    # Requirements on single values are made for each, of no rule.
    if rule is FINITE:
        _exchange_made(graph.finite_elements, lambda *_: True, off)
    _exchange_made(
        contract_rules.contract_requirement,
        lambda entry: contract_rules.contract_rule(entry) is rule,
        off,
    )
    for kind in (type(rule.requirement), DecidedByAttributes, contract_rules.OnValue):
        _deafen(kind, lambda requirement: id(requirement) in off, off)


def _of_its_own(rule: Rule) -> Requirement:
    """The requirement of a rule; a copy from now on if another rule has the same."""
    if any(r.requirement is rule.requirement for r in RULES.values() if r is not rule):
        object.__setattr__(rule, "requirement", copy.copy(rule.requirement))
    return rule.requirement


def _noted(off: dict[int, Any], requirement: object, *, if_so: bool = True) -> object:
    """The requirement, which is kept, so that no other one has its id."""
    if if_so:
        off[id(requirement)] = requirement
    return requirement


def _exchange_made(
    make: Callable[..., object], is_meant: Callable[..., bool], off: dict[int, Any]
) -> None:
    """Have a cached function note the requirements that it makes, if they are meant."""
    function = _function_of(make)
    assert function is not None  # noqa: S101 - it is a function

    def noting(same: FunctionType) -> Callable[..., object]:
        return lambda *given: _noted(off, same(*given), if_so=is_meant(*given))

    _exchange(function, noting)


def _deafen(
    kind: type, is_off: Callable[[object], bool], off: dict[int, Any] | None = None
) -> None:
    """Have the requirements of a class that are off find no violation."""
    for each in kind.__mro__[:-1]:
        for name in _METHODS:
            if (method := vars(each).get(name)) is not None and not hasattr(method, _FAULT):
                setattr(each, name, _deaf(method, is_off, {} if off is None else off))


def _deaf(
    method: FunctionType, is_off: Callable[[object], bool], off: dict[int, Any]
) -> Callable[..., Any]:
    @functools.wraps(method)
    def deaf(self: object, *arguments: Any, **named: Any) -> Any:
        if not is_off(self):
            return method(self, *arguments, **named)
        match method.__name__:
            case "judge":
                return proved("it is switched off")
            case "of_node":
                return _noted(off, copy.copy(method(self, *arguments, **named)))
        return None

    setattr(deaf, _FAULT, True)
    return deaf


def _lose_findings(rule: Rule) -> None:
    """Have a rule on graphs lose what is found against it."""

    def losing(find: Callable[..., Iterator[Finding]]) -> Callable[..., Any]:
        @functools.wraps(find)
        def lossy(*arguments: Any, **named: Any) -> Iterator[Finding]:
            return (each for each in find(*arguments, **named) if each.rule is not rule)

        return lossy

    for name in ("_declarations", "_other_types", "_unsuitable", "_of_file"):
        setattr(findings, name, losing(getattr(findings, name)))
