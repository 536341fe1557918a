"""What SONNX has for each operator of ONNX: the texts of `operators`, and those of `explain`."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import onnx

from sonnx_ort.conforming.catalog import CHANGES
from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.profile.catalog import OPERATORS, RULES, OperatorStanding, standing_of
from sonnx_ort.profile.graph import OPERATORS_OF_THE_SET
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.reporting.explanation import explain, is_explained
from sonnx_ort.reporting.terminal import wrapped

_DOMAINS = (STANDARD_DOMAIN, "ai.onnx.ml")
"""The domains of ONNX whose operators are for inference."""

_SAID = {
    OperatorStanding.DRAFT: "has rules that a document or a draft of SONNX states.",
    OperatorStanding.OURS: "is in SONNX's operator set without a draft: rules of sonnx_ort bind "
    "it.",
    OperatorStanding.GENERAL: "is in SONNX's operator set without a draft: the general "
    "restrictions alone bind it, and its meaning is that of ONNX.",
    OperatorStanding.OUTSIDE: "is outside the profile: SONNX neither lists it nor has a draft of "
    f"it, so each node of it violates {OPERATORS_OF_THE_SET.id}.",
}

_HEADS = {
    OperatorStanding.DRAFT: "bound by a draft of SONNX",
    OperatorStanding.OURS: "in SONNX's operator set, bound by rules of sonnx_ort",
    OperatorStanding.GENERAL: "in SONNX's operator set, bound by the general restrictions alone",
    OperatorStanding.OUTSIDE: "outside the profile",
}


def list_operators() -> str:
    """List all operators of ONNX by what SONNX has for them."""
    by_standing: dict[OperatorStanding, list[str]] = {standing: [] for standing in OperatorStanding}
    for domain, name in _schemas():
        by_standing[standing_of(domain, name)].append(_full(domain, name))
    by_standing[OperatorStanding.DRAFT] += sorted(set(OPERATORS) - {n for _, n in _schemas()})
    parts = [
        "\n".join([f"{_HEADS[standing]} ({len(names)}):", *wrapped(", ".join(names), "  ")])
        for standing, names in by_standing.items()
    ]
    return "\n\n".join([*parts, "`sonnx-ort explain OPERATOR` says more of each."])


def explain_any(name: str) -> str:
    """Explain a rule, an operator of the profile, or any other operator of ONNX.

    Args:
        name: The id of a rule, or the name of an operator, in upper or lower case.

    Raises:
        SonnxError: There is none; the message has a similar name.
    """
    found = _found(name)
    if found is None:
        if is_explained(name):
            return explain(name)
        meant = did_you_mean(name, (*RULES, *OPERATORS, *(n for _, n in _schemas())))
        raise SonnxError(
            f"there is no rule and no operator '{name}'{meant}; `sonnx-ort explain` lists all "
            "rules, `sonnx-ort operators` all operators"
        )
    domain, operator = found
    standing = standing_of(domain, operator)
    facts = [f"{_full(domain, operator)} {_SAID[standing]}"]
    if domain == STANDARD_DOMAIN:
        facts += _conforming(operator)
    if standing is OperatorStanding.OUTSIDE:
        facts += _definition(domain, operator)
    text = "\n".join(line for fact in facts for line in wrapped(fact, ""))
    if operator in OPERATORS and domain == STANDARD_DOMAIN:
        return f"{text}\n\n{explain(operator)}"
    about = wrapped(_first_sentence(_schemas()[found].doc), "")
    return "\n".join([text, *(["", *about] if about else [])])


def _found(name: str) -> tuple[str, str] | None:
    """The domain and the name of an operator of ONNX; None if there is none."""
    given = name.lower().removeprefix("ai.onnx::")
    return next((key for key in _schemas() if _full(*key).lower() == given), None) or next(
        (key for key in _schemas() if key[1].lower() == given), None
    )


@cache
def _schemas() -> dict[tuple[str, str], onnx.defs.OpSchema]:
    """The newest schema of each operator of ONNX, by domain and name."""
    schemas = (s for s in onnx.defs.get_all_schemas() if s.domain in _DOMAINS and not s.deprecated)
    return dict(sorted(((s.domain, s.name), s) for s in schemas))


def _full(domain: str, name: str) -> str:
    return f"{domain}::{name}" if domain else name


def _conforming(name: str) -> Iterator[str]:
    """What `conform` does at nodes of an operator, as a sentence."""
    if name == "Dropout":
        yield "sonnx-ort conform removes it where it is certain not to train."
    prefix = f"{name}."
    titles = [c.title for c in CHANGES if any(rule.startswith(prefix) for rule in c.rules)]
    if titles:
        yield f"sonnx-ort conform can {', '.join(dict.fromkeys(titles))}."


def _definition(domain: str, name: str) -> Iterator[str]:
    """By which operators ONNX defines one that is outside, if it does."""
    used = _operators_of_body(_schemas()[domain, name])
    if not used:
        yield "Export the model without it, or accept it with a waiver."
        return
    outside = [each for each in used if standing_of("", each) is OperatorStanding.OUTSIDE]
    but = f", of which {', '.join(outside)} are outside as well" if outside else ""
    yield f"ONNX defines it by {', '.join(used)}{but}. Export these, or accept it with a waiver."


def _operators_of_body(schema: Any) -> list[str]:
    """The operators of the function that defines another one, given no optional inputs."""
    body = schema.function_body if schema.has_function else onnx.FunctionProto()
    if schema.has_context_dependent_function:
        node = onnx.helper.make_node(schema.name, [f"x{n}" for n in range(schema.min_input)], ["y"])
        types = [onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)] * len(node.input)
        with suppress(ValueError, RuntimeError):
            body.ParseFromString(
                schema.get_context_dependent_function(
                    node.SerializeToString(), [each.SerializeToString() for each in types]
                )
            )
    return sorted({node.op_type for node in body.node})


def _first_sentence(text: str | None) -> str:
    words = " ".join((text or "").split())
    return f"{words.partition('. ')[0].rstrip('.')}." if words else ""
