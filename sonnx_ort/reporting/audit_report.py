"""Audits as text and as JUnit test results."""

import enum
import math
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree as ET

from sonnx_ort.errors import printable_lines
from sonnx_ort.errors.remedies import in_command
from sonnx_ort.facts.decimals import at_most
from sonnx_ort.reporting.terminal import Colour, Paint, fitted, paint_of, table_of_numbers, wrapped
from sonnx_ort.reporting.verdict import counted
from sonnx_ort.runs.audit.audit import Audit
from sonnx_ort.runs.audit.enclosing import EnclosedOutput
from sonnx_ort.runs.audit.error_bounds import BoundedValue
from sonnx_ort.runs.audit.verdicts import (
    Element,
    NodeAudit,
    OperatorSummary,
    Verdict,
    by_operator,
    worst_first,
)


class AuditFormat(enum.StrEnum):
    """The formats of audits."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    HTML = "html"


_SHOWN = 5
_MANY = 1000
_COLOURS = {
    Verdict.OUTSIDE: Colour.VIOLATED,
    Verdict.NOT_KNOWN: Colour.OPEN,
    Verdict.ADMITTED: Colour.PROVED,
    Verdict.EXACT: Colour.PROVED,
}


def verdict_of(audit: Audit) -> tuple[Verdict, str]:
    """The verdict of an audit in one sentence, and the verdict of a node that it is shown like."""
    counts, total = audit.counts, len(audit.nodes)
    outside, unknown = counts[Verdict.OUTSIDE], counts[Verdict.NOT_KNOWN]
    known = total - unknown
    if outside:
        return Verdict.OUTSIDE, (
            f"Outside: {counted(outside, 'node')} of {total:,} gave results outside the admitted "
            "error."
        )
    if not known:
        return Verdict.NOT_KNOWN, f"Nothing is known of the {counted(total, 'node')} of this run."
    admitted = bool(counts[Verdict.ADMITTED])
    gave = "exact or admitted results" if admitted else "exact results"
    measured = sum(node.is_measured for node in audit.nodes) if admitted else 0
    of_these = f", {measured:,} of them by a measured error" if measured else ""
    found = f"{counted(known, 'node')} of {total:,} gave {gave}{of_these}"
    if unknown:
        return Verdict.NOT_KNOWN, f"Not all judged: {found}; {unknown:,} could not be judged."
    return (
        (Verdict.ADMITTED, f"Kept: {found}.") if admitted else (Verdict.EXACT, f"Exact: {found}.")
    )


def audit_text(audit: Audit, *, coloured: bool = False, every: bool = False) -> str:
    """An audit as text.

    With `every`, each node is shown.
    """
    paint = paint_of(coloured=coloured)
    verdict, sentence = verdict_of(audit)
    lines = [paint(line, _COLOURS[verdict]) for line in wrapped(sentence, "")]
    shown = audit.nodes if every else worst_first(audit.outside)
    for node in shown if every else shown[:_SHOWN]:
        lines += ["", *_node_lines(node, paint)]
    if not every and len(shown) > _SHOWN:
        lines += ["", f"and {len(shown) - _SHOWN:,} more; -v shows all"]
    parts = (_table(audit), _not_known(audit), _rules(audit), _outputs(audit), _errors(audit))
    for part in parts:
        found = list(part)
        if found:
            lines += ["", *map(fitted, found)]
    facts = (wrapped(f"{name}: {fact}", "") for name, fact in facts_of(audit).items())
    return "\n".join([*lines, "", *(line for fact in facts for line in fact)])


def _node_lines(node: NodeAudit, paint: Paint) -> Iterator[str]:
    yield paint(f"{node.label}: {node.verdict}", _COLOURS[node.verdict])
    for line in details_of(node):
        yield from wrapped(line, "  ")


def details_of(node: NodeAudit) -> Iterator[str]:
    """What is to be said of a node besides its verdict: the largest error comes first."""
    if node.reason:
        yield node.reason
    if node.worst is not None:
        yield from _element_lines(node.worst)
    if node.bound and node.verdict is not Verdict.EXACT:
        yield f"admitted error: {node.bound}"
    if node.recomputed:
        names = ", ".join(f"'{name}'" for name in node.recomputed)
        yield (
            f"the optimizer joined the nodes of {names} with this one; for the audit they were "
            "computed apart"
        )


def _element_lines(element: Element) -> Iterator[str]:
    place = f"{element.result}{list(element.index)}" if element.index else element.result
    yield f"{place} = {element.found}; exact {element.exact}"
    if element.units is not None:
        yield f"error: {error_in_words(element)}"
    if element.admitted:
        yield f"admitted: {element.admitted}"
    if element.operands:
        yield f"operands: {', '.join(element.operands)}"


_ZEROS = ("0.0", "-0.0", "0", "-0")
"""Both zeros as text, of floats of all types."""


def error_in_words(element: Element) -> str:
    """The error of an element, and what it is by the admitted one."""
    if element.units is None:
        return "one of both is no number"
    if element.units == 0:
        zeros = element.exact in _ZEROS and element.found in _ZEROS
        return "a zero of the other sign" if zeros else "other bits of the same number"
    units = f"{counted(element.units, 'unit')} in the last place"
    admitted = element.admitted_units
    if admitted is None:
        return f"{units}; any result is admitted"
    if admitted == 0:
        return f"{units}; none is admitted"
    return f"{units}, {_percentage(element.share)} the {admitted:,} admitted"


def _percentage(share: float) -> str:
    """How much of the admitted error a share is, before the words "the admitted"."""
    if share > 1:
        return f"{share:,.1f} times"
    return "less than 1 % of" if share < 0.01 else f"{share * 100:.0f} % of"


def worst_error(summary: OperatorSummary) -> str:
    """The largest error of an operator by the admitted one, in a few words for a table."""
    worst = summary.worst
    if worst is None:
        return "-"
    if worst.units is None:
        return "no number"
    admitted = "any" if worst.admitted_units is None else f"{worst.admitted_units:,}"
    measured = " (measured)" if summary.is_measured else ""
    return f"{counted(worst.units, 'unit')}, {admitted} admitted{measured}"


UNITS = (
    "A unit is one in the last place: the step to the next number of the type. Where a sum nearly "
    "cancels, many units are admitted."
)
"""What units are, where tables have them."""


MEASURED = (
    "A measured error is one of ONNX Runtime. That results are within it says of ONNX Runtime only "
    "that it computes as it did."
)
"""What a measured error is, where one is admitted."""


def legend(audit: Audit) -> Iterator[str]:
    """What the table of operators has to explain."""
    if any(node.worst is not None for node in audit.nodes):
        yield UNITS
    if any(node.is_measured for node in audit.nodes):
        yield MEASURED


OPERATOR_HEADS = ("operator", *map(str, Verdict), "largest error")
"""The heads of the table of operators."""


def operator_rows(audit: Audit) -> list[tuple[str, ...]]:
    """The table of operators: how many nodes have each verdict, and the largest error."""
    return [
        (
            each.operator,
            *(f"{each.counts.get(verdict, 0):,}" for verdict in Verdict),
            worst_error(each),
        )
        for each in by_operator(audit.nodes)
    ]


def _table(audit: Audit) -> Iterator[str]:
    if rows := operator_rows(audit):
        yield from table_of_numbers(OPERATOR_HEADS, rows)
    for sentence in legend(audit):
        yield from wrapped(sentence, "")


def _not_known(audit: Audit) -> Iterator[str]:
    reasons: dict[str, list[NodeAudit]] = {}
    for node in audit.nodes:
        if node.verdict is Verdict.NOT_KNOWN:
            reasons.setdefault(node.reason, []).append(node)
    if reasons:
        yield "not known"
    for reason, nodes in sorted(reasons.items(), key=lambda item: -len(item[1])):
        yield from wrapped(f"{counted(len(nodes), 'node')}: {reason}", "  ")
    if audit.not_run:
        yield from wrapped(f"{counted(audit.not_run, 'node')} in bodies did not run", "  ")


def _rules(audit: Audit) -> Iterator[str]:
    found: dict[str, list[tuple[NodeAudit, str]]] = {}
    for node in audit.nodes:
        for broken in node.broken:
            found.setdefault(broken.rule.id, []).append((node, broken.reason))
    if found:
        yield "rules that the operands of this run break"
    for rule, places in sorted(found.items(), key=lambda item: -len(item[1])):
        node, reason = places[0]
        yield from wrapped(
            f"{rule} at {counted(len(places), 'node')}, such as {node.label}: {reason}", "  "
        )


def _outputs(audit: Audit) -> Iterator[str]:
    if audit.outputs:
        yield "outputs over the reals"
    for output in audit.outputs:
        if output.reason:
            yield from wrapped(f"{output.name}: not known: {output.reason}", "  ")
            continue
        place = list(output.index or ())
        yield from wrapped(
            f"{output.name}: the exact results are {distance_in_words(output)}, at {place}",
            "  ",
        )


def distance_in_words(output: EnclosedOutput) -> str:
    """How narrow an enclosure is, and how far the run is outside of it, rounded up."""
    units = at_most(output.units, 3) if output.units < _MANY else f"{math.ceil(output.units):,}"
    return (
        f"known to {at_most(output.width, 3)}; the run is at most {at_most(output.distance, 3)} "
        f"({units} units in the last place) beyond that"
    )


def _errors(audit: Audit) -> Iterator[str]:
    if audit.errors is not None:
        yield from wrapped(heading_of_errors(audit.errors), "")
    for value in audit.bounded:
        yield from wrapped(f"{value.name}: {bound_in_words(value)}", "  ")


def heading_of_errors(errors: Mapping[str, float]) -> str:
    """Whose errors are bounded, and for which inputs."""
    off = [
        f"{name} is off by at most {_with_all_digits(error)}"
        for name, error in errors.items()
        if error
    ]
    return f"errors of values, if {' and '.join(off) or 'all inputs are exact'}"


def _with_all_digits(error: float) -> str:
    """A premise with all of its digits, for the bounds hold of no larger error."""
    short = f"{error:g}"
    return short if float(short) == error else repr(float(error))


def bound_in_words(value: BoundedValue) -> str:
    """The bound of the error of a value by the documents, and that by the enclosure."""
    by_document = f"no bound: {value.reason}"
    if value.bound is not None:
        by_document = f"at most {at_most(value.bound, 3)} ({value.source})"
    enclosed = "not" if value.enclosed is None else f"at most {at_most(value.enclosed, 3)}"
    exceeded = "" if value.exceeded is None else f"; the run is further away at {[*value.exceeded]}"
    return f"{by_document}; enclosed: {enclosed}{exceeded}"


def facts_of(audit: Audit) -> dict[str, str]:
    """What was audited, and what computed it, by name."""
    audited = sum(node.audited for node in audit.nodes)
    elements = sum(node.elements for node in audit.nodes)
    sampling = audit.sampling
    choice = (
        "all"
        if sampling.samples is None
        else f"at most {sampling.samples} a result, seed {sampling.seed}; --exhaustive takes all"
    )
    facts = {"audited": f"{audited:,} of {elements:,} elements ({choice})", "run": audit.source}
    if audit.settings:
        facts["settings from"] = audit.settings
    for name, (dtype, shape) in audit.random.items():
        facts[f"input {name}"] = f"{dtype} {shape} (random, seed {audit.seed})"
    if audit.note:
        facts["open sizes"] = in_command(audit.note)
    if audit.seeded:
        facts["random operators without a seed drew as with one"] = ", ".join(audit.seeded)
    if audit.unlike:
        names = ", ".join(f"'{name}'" for name in audit.unlike)
        facts[f"observing the values changed {names}"] = (
            "the results of the run itself were audited"
        )
    return facts


def audit_junit(audit: Audit) -> str:
    """An audit as JUnit test results: one for each node. What is not known is skipped."""
    suite = ET.Element("testsuite", {"name": "sonnx-ort audit"})
    if audit.settings:
        named = {"name": "settings", "value": printable_lines(audit.settings)}
        ET.SubElement(ET.SubElement(suite, "properties"), "property", named)
    for node in audit.nodes:
        names = {"classname": printable_lines(" / ".join((*node.path, node.operator)))}
        case = ET.SubElement(suite, "testcase", names | {"name": printable_lines(node.node)})
        text = "\n".join(_node_lines(node, paint_of(coloured=False)))
        if node.verdict is Verdict.OUTSIDE:
            failure = ET.SubElement(case, "failure", {"type": "outside", "message": "outside"})
            failure.text = printable_lines(text)
        elif node.verdict is Verdict.NOT_KNOWN:
            ET.SubElement(
                case, "skipped", {"type": "not known", "message": printable_lines(node.reason)}
            )
    counts = audit.counts
    suite.attrib |= {
        "tests": str(len(audit.nodes)),
        "failures": str(counts[Verdict.OUTSIDE]),
        "errors": "0",
        "skipped": str(counts[Verdict.NOT_KNOWN]),
    }
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode")
