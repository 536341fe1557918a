"""Checks a certificate: its form, its steps, its obligations, and the model that enforces them.

The form of a certificate. A certificate is JSON:

    format       "sonnx_ort.certificate/2"
    model        the SHA-256 of the file of the model
    steps        [value, "type", "shape", "elements" or "bounds", what it is], each from those
                 before; bounds are the smallest and the largest integer
    obligations  [output of a node, id of a rule] that hold in every run

and if there is an enforced model:

    enforced     the SHA-256 of its file
    edition, operators   what it enforces
    guarded      [output, rule] that guards in the enforced model hold
    waived       [output, rule] that are violated, and accepted
    unknown      [output, rule] that are left to guards of which no form is known

The guard of a rule depends on what is known of the operands. What was known where it was made is
tried here as far as steps have established it.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx

from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.facts import Expressions, Facts, Tree
from sonnx_ort.checker.model import Model
from sonnx_ort.checker.node import Node, graphs_of
from sonnx_ort.checker.obligations import Established, bound_rule, rules_of
from sonnx_ort.checker.reading import OWN_DOMAIN
from sonnx_ort.guards.catalog import deciding_guard
from sonnx_ort.guards.guard import DecidingGuard, GuardedNode
from sonnx_ort.kernel.sizes import Rejected, require
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.rule import Rule, Status, Subject
from sonnx_ort.terms.operand import Shape

_CARRIERS = (ElementType.FLOAT, ElementType.INT32)
"""The types in which the smallest of integers is found: rounding keeps their order."""

_ENOUGH_AXES = 256
"""More than any demand names."""


@dataclass(frozen=True)
class _Guarded:
    """A rule of the original, and what holds in front of its node in one case."""

    rule: Rule
    node: Node
    operands: Sequence[Established]
    enforced: Enforced
    facts: Facts

    @property
    def values(self) -> Sequence[Tree]:
        """The operands of the rule."""
        return [("value", each.value) for each in self.bound]

    @property
    def bound(self) -> Sequence[Established]:
        """What is known of the operands of the rule."""
        names = [operand.name for operand in self.operands]
        return self.rule.select_operands(names, self.operands)

    @property
    def element_type(self) -> ElementType:
        """The type of the operands; guards of what has no known type read no elements of it."""
        own = OPERATORS[self.node.op_type].operand_types
        typed = next(operand for operand in self.operands if operand.name not in own)
        return ElementType.named(typed.element_type) or ElementType.FLOAT

    def are_of_one_shape(self) -> bool:
        """Whether the shape of each other operand is compared with the first's, size by size."""
        first, *others = self.values
        shape = ("Shape", (), first)
        for other in others:
            its = ("Shape", (), other)
            equal = {("Equal", (), shape, its), ("Equal", (), its, shape)} & self.facts.kept
            known = self.enforced.equal_ranks(shape, its, self.facts)
            if other != first and not (equal and known):
                return False
        return True

    def are_looked_at(self, guard: DecidingGuard) -> bool:
        """Whether the flag of a guard says that the rule is kept, or the smallest element alone."""
        # No guard is made of what is violated in every run: its flag would not say so.
        violated = self.rule.requirement.judge(self.bound).status is Status.VIOLATED
        if violated or not guard.binds(self.element_type):
            return False
        return any(self._shows(guard, *known) for known in self._known()) or any(
            self._is_none_below(self.values[position], least(self.element_type))
            for position, least in guard.sufficient.items()
        )

    def _shows(self, guard: DecidingGuard, *operands: Established) -> bool:
        node = GuardedNode(operands, self.element_type, self.element_type)
        flag = guard.look(Expressions(self.node.model.version), self.values, node)
        return flag.value in (self.facts.kept if flag.when_kept else self.facts.broken)

    def _known(self) -> Iterator[Sequence[Established]]:
        """What may have been known of the shapes of operands where the guard was made."""
        known = [
            each.shape and tuple(size if isinstance(size, int) else None for size in each.shape)
            for each in self.operands
        ]
        yield self._of_shapes(known)
        yield self._of_shapes([None for _ in known])
        if isinstance(self.rule.requirement, OnShapes):
            # To gather the size of an axis that is not there fails.
            yield self._of_shapes([(None,) * _ENOUGH_AXES if s is None else s for s in known])

    def _of_shapes(self, shapes: Sequence[Shape | None]) -> Sequence[Established]:
        made = [Established(each.name, each.value, self.node) for each in self.operands]
        for operand, shape in zip(made, shapes, strict=True):
            object.__setattr__(operand, "shape", shape)
        return made

    def _is_none_below(self, operand: Tree, least: int) -> bool:
        """Whether the smallest element is not below a number."""
        nodes = Expressions(self.node.model.version)
        for carried in (operand, *(nodes.cast(operand, to, "") for to in _CARRIERS)):
            smallest = nodes.add("ReduceMin", [carried], "", {"keepdims": 0})
            for flag in self.facts.kept:
                match flag:
                    case ("Greater", (), one, ("constant", _, _, (limit,))) if one == smallest:
                        return bool(limit >= least - 1)
        return False


def holds_behind(node: Node, enforced: Enforced, facts: Facts, rule: str) -> bool | None:
    """Whether facts hold a rule of a node; None if no guard holds it.

    Raises:
        Rejected: The rule does not bind the node, or it is not known what holds it.
    """
    bound, operands = bound_rule(node, rule)
    guarded = _Guarded(bound, node, operands, enforced, facts)
    if bound.requirement.subject is Subject.EQUAL_SHAPES:
        return guarded.are_of_one_shape()
    guard = deciding_guard(bound.requirement) if bound.in_run else None
    return None if guard is None else guarded.are_looked_at(guard)


def require_guarded(node: Node, enforced: Enforced, output: str, rule: str) -> None:
    """Reject a rule that the guards in front of a node do not hold.

    Raises:
        Rejected: No known guard of the rule is in front of the node.
    """
    place = f"{rule} of the node of '{output}'"
    for facts in enforced.facts_of(output):
        held = holds_behind(node, enforced, facts, rule)
        require(held is not None, f"{place} has no guards of a known form")
        require(held, f"{place} is not guarded")


FORMAT = "sonnx_ort.certificate/2"

LISTS = ("obligations", "guarded", "waived", "unknown")
"""The entries that say of obligations what holds them."""


class Malformed(Rejected):
    """What is no certificate; the message says why."""


def read_certificate(content: bytes) -> Mapping[str, Any]:
    """Read a certificate.

    Raises:
        Malformed: It is no certificate.
    """
    try:
        found = json.loads(
            content.decode(), object_pairs_hook=_each_once, parse_constant=_no_number
        )
        # A half of a surrogate pair is no text, and no message could show it.
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error
    require_form(found)
    certificate: Mapping[str, Any] = found
    return certificate


def require_form(certificate: object) -> None:
    """Reject what has other entries than a certificate, or entries of another form.

    Raises:
        Malformed: It is no certificate.
    """
    if not isinstance(certificate, dict):
        raise Malformed("it is no object of JSON")
    if certificate.get("format") != FORMAT:
        raise Malformed(f"the format is not {FORMAT}; certify the model again")
    form = _FORM | _FORM_OF_ENFORCED if "enforced" in certificate else _FORM
    for name in sorted(form.keys() - certificate.keys()):
        raise Malformed(f"the entry '{name}' is missing")
    for name in certificate.keys() - form.keys():
        raise Malformed(f"the entry {name!r} is not known")
    for name, is_formed in form.items():
        if not is_formed(certificate[name]):
            raise Malformed(f"the entry '{name}' has another form")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_step(value: object) -> bool:
    match value:
        case [str(), "type", str()]:
            return True
        case [str(), "shape" | "elements", [*claims]]:
            return all(type(value) in (int, str) for value in claims)
        case [str(), "bounds", [int(), int()]]:
            return True
    return False


def _is_entry(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


def _list_of(is_formed: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(is_formed, value))


_FORM: dict[str, Callable[[object], bool]] = {
    "format": _is_text,
    "model": _is_text,
    "steps": _list_of(_is_step),
    "obligations": _list_of(_is_entry),
}
_FORM_OF_ENFORCED: dict[str, Callable[[object], bool]] = {
    "enforced": _is_text,
    "edition": lambda value: value in ("typed", "preliminary"),
    "operators": _list_of(_is_text),
    **dict.fromkeys(LISTS[1:], _list_of(_is_entry)),
}


def check(content: bytes, certificate: Mapping[str, Any], enforced: bytes | None = None) -> str:
    """Check the certificate of a model.

    Args:
        content: The file of the model.
        certificate: The certificate, read from JSON.
        enforced: The file of the enforced model, if the certificate has one.

    Returns:
        How many obligations hold in every run, and why, as a sentence.

    Raises:
        Malformed: It is no certificate.
        Rejected: It proves less than it says, or is of another model.
    """
    require_form(certificate)
    proto = _read(content, certificate["model"], "model")
    wanted = "enforced" in certificate
    require(wanted or enforced is None, "it is no certificate of an enforced model")
    require(enforced is not None or not wanted, "the enforced model is missing")
    model = Model(proto)
    for value, kind, claim in certificate["steps"]:
        found = model.derive(value, kind)
        require(found == claim, f"the {kind} of '{value}' is {found}, not {claim}")
    for output, rule in certificate["obligations"]:
        model.conclude(output, rule)
    count = len(certificate["obligations"])
    if enforced is None:
        return f"{count} obligations hold in every run"
    other = _read(enforced, certificate["enforced"], "enforced model")
    try:
        beside = Enforced(model, other)
        for output, rule in certificate["guarded"]:
            require_guarded(model.node(output), beside, output, rule)
        _require_all(model, certificate)
    except Rejected:
        raise
    except Exception as error:
        raise Rejected(f"the enforced model cannot be followed: {error!r}") from error
    guarded, waived, unknown = (len(certificate[name]) for name in LISTS[1:])
    sentence = f"{count + guarded} obligations hold in every run: {count} by proof, "
    sentence += f"{guarded} by guards"
    sentence += f"; {waived} are waived" if waived else ""
    return sentence + (f"; {unknown} are left to guards of unknown form" if unknown else "")


def _read(content: bytes, digest: object, name: str) -> onnx.ModelProto:
    same = hashlib.sha256(content).hexdigest() == digest
    require(same, f"it is the certificate of another {name}")
    try:
        proto = onnx.load_model_from_string(content)
    except Exception as error:
        raise Rejected(f"the {name} cannot be read: {error}") from error
    # Of a field that is there twice, a reader takes the last one.
    plain = proto.ByteSize() == len(content)
    require(plain, f"the file of the {name} has a field twice; write it again with onnx.save")
    return proto


def _require_all(model: Model, certificate: Mapping[str, Any]) -> None:
    """Reject a certificate that does not say of each rule that binds a node once what holds it."""
    named: dict[str, set[str]] = {}
    for name in LISTS:
        for output, rule in certificate[name]:
            once = rule not in named.setdefault(output, set())
            require(once, f"{rule} of the node of '{output}' is named twice")
            named[output].add(rule)
    for graph in graphs_of(model.proto.graph):
        for proto in graph.node:
            if proto.op_type in certificate["operators"] and proto.domain in ("", OWN_DOMAIN):
                output = next(name for name in proto.output if name)
                rules = rules_of(model.node(output), Edition(certificate["edition"]))
                bound = {rule.id for rule in rules}
                found = named.pop(output, set())
                place = f"of the node of '{output}'"
                missing, further = sorted(bound - found), sorted(found - bound)
                require(not missing, f"nothing is said of {' '.join(missing)} {place}")
                require(not further, f"{' '.join(further)} {place} does not bind it")
    require(not named, f"no node of the operators has the outputs {sorted(named)}")
