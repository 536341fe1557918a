"""An audit as one HTML page, with the graph of the model."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from sonnx_ort.errors import to_html
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.source import read
from sonnx_ort.reporting.audit_document import audit_document
from sonnx_ort.reporting.audit_report import (
    OPERATOR_HEADS,
    UNITS,
    bound_in_words,
    details_of,
    distance_in_words,
    facts_of,
    heading_of_errors,
    legend,
    operator_rows,
    verdict_of,
)
from sonnx_ort.reporting.checked_models import outline
from sonnx_ort.reporting.graph_drawing import Words, node_key
from sonnx_ort.reporting.page_parts import Listing, Page, Worst, node_button, sign, table
from sonnx_ort.reporting.verdict import NodeState
from sonnx_ort.runs.audit.audit import Audit
from sonnx_ort.runs.audit.verdicts import NodeAudit, Verdict, worst_first

_STATES: Mapping[Verdict, NodeState] = {
    Verdict.OUTSIDE: NodeState.VIOLATED,
    Verdict.NOT_KNOWN: NodeState.NOT_ASKED_FOR,
    Verdict.ADMITTED: NodeState.RUNTIME,
    Verdict.EXACT: NodeState.PROVED,
}
"""The states whose colours and signs the verdicts have, worst first."""

_WORDS: Words = {**{state: str(verdict) for verdict, state in _STATES.items()}, None: "did not run"}


def audit_page(audit: Audit, model: Path, next_command: str = "") -> str:
    """An audit as a page in one file, with the command to type next, if there is one."""
    verdict, sentence = verdict_of(audit)
    nodes = worst_first(audit.nodes)
    sections = {"Operators": _operators(audit)}
    if audit.outputs:
        sections = {"Outputs over the reals": _outputs(audit), **sections}
    if audit.errors is not None:
        rows = (
            (f"<bdi>{to_html(each.name)}</bdi>", to_html(bound_in_words(each)))
            for each in audit.bounded
        )
        title = heading_of_errors(audit.errors).capitalize()
        sections = {title: table(("Value", "Error"), rows), **sections}
    return Page(
        kind="SONNX profile: audit of a run",
        file=str(model),
        title=f"Audit, {verdict}",
        state=_STATES[verdict],
        verdict=(sentence,),
        worst=_worst(nodes),
        next_command=next_command,
        counts=[(state, f"{audit.counts[each]:,} {each}") for each, state in _STATES.items()],
        notices=(),
        facts=facts_of(audit),
        graph=outline(load_canonical(read(model)).graph_model),
        states={(node.node, node.path): _STATES[node.verdict] for node in nodes},
        words=_WORDS,
        listing=Listing(
            "audit.js",
            "Nodes, worst first",
            {state: str(verdict) for verdict, state in _STATES.items()},
            ("Verdict", "Node", "Largest error"),
            "node, value, reason",
            rows="".join(map(_row, nodes)),
        ),
        sections=sections,
        data={"audit": audit_document(audit)},
    ).render()


def _worst(nodes: tuple[NodeAudit, ...]) -> Worst | None:
    """The node with the largest error; None if all are exact or not known."""
    for node in nodes:
        if node.worst is not None or node.verdict is Verdict.OUTSIDE:
            return Worst(node.label, (node.node, node.path), "; ".join(islice(_details(node), 2)))
    return None


def _row(node: NodeAudit) -> str:
    state = _STATES[node.verdict]
    cells = (
        f'<span class="status {state}">{sign(state)} {node.verdict}</span>',
        node_button(node.label, (node.node, node.path)),
        "<br>".join(f"<bdi>{to_html(line)}</bdi>" for line in _details(node)),
    )
    marks = f'data-key="{to_html(node_key(node.node, node.path))}" data-status="{state}"'
    operator = f'data-operator="{to_html(node.operator)}"'
    return f"<tr {marks} {operator}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _details(node: NodeAudit) -> Iterator[str]:
    yield from details_of(node)
    for broken in node.broken:
        yield f"breaks {broken.rule.id}: {broken.reason}"


def _outputs(audit: Audit) -> str:
    rows = (
        (
            f"<bdi>{to_html(each.name)}</bdi>",
            to_html(each.reason) or distance_in_words(each),
        )
        for each in audit.outputs
    )
    return table(("Output", "Error"), rows)


def _operators(audit: Audit) -> str:
    rows = ((f"<bdi>{to_html(name)}</bdi>", *cells) for name, *cells in operator_rows(audit))
    heads = ("Operator", *OPERATOR_HEADS[1:])
    told = "".join(f"<p>{sentence}</p>" for sentence in dict.fromkeys((UNITS, *legend(audit))))
    return f"{table(heads, rows, numbers=range(1, len(heads)))}{told}"
