"""An audit as one HTML page, with the graph of the model, without scripts."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template

from sonnx_ort.auditing.audit import Audit
from sonnx_ort.auditing.verdicts import NodeAudit, Verdict, by_operator
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.source import read
from sonnx_ort.printable import to_html
from sonnx_ort.reporting.audit_report import audit_document, element_lines, facts_of, verdict_of
from sonnx_ort.reporting.checked_models import outline
from sonnx_ort.reporting.graph_drawing import Words, draw
from sonnx_ort.reporting.page_parts import (
    as_data,
    asset,
    digest,
    file_and_folder,
    folder_line,
    sign,
)
from sonnx_ort.reporting.verdict import NodeKey, NodeState

_STATES: Mapping[Verdict, NodeState] = {
    Verdict.OUTSIDE: NodeState.VIOLATED,
    Verdict.NOT_KNOWN: NodeState.NOT_ASKED_FOR,
    Verdict.ADMITTED: NodeState.RUNTIME,
    Verdict.EXACT: NodeState.PROVED,
}
"""The states whose colours and signs the verdicts have, worst first."""

_WORDS: Words = {
    **{state: str(verdict) for verdict, state in _STATES.items()},
    None: "did not run",
}


def audit_page(audit: Audit, model: Path) -> str:
    """An audit as a page in one file.

    Args:
        audit: The audit.
        model: The file of its model.
    """
    style = asset("report.css")
    verdict, sentence = verdict_of(audit)
    order = list(_STATES)
    nodes = sorted(audit.nodes, key=lambda node: order.index(node.verdict))
    places: dict[NodeKey, str] = {
        (node.node, node.path): f"#n{number}" for number, node in enumerate(nodes)
    }
    states = {(node.node, node.path): _STATES[node.verdict] for node in nodes}
    graph = outline(load_canonical(read(model)).graph_model)
    file, folder = file_and_folder(str(model))
    return Template(asset("audit.html")).substitute(
        title=to_html(f"Audit, {verdict}: {file}"),
        name=to_html(file),
        folder=folder_line(folder),
        style=style,
        style_digest=digest(style),
        verdict=sentence,
        verdict_class=_STATES[verdict],
        verdict_sign=sign(_STATES[verdict]),
        counts="".join(
            f'<li class="{state}">{sign(state)} {audit.counts[each]:,} {each}</li>'
            for each, state in _STATES.items()
        ),
        facts="".join(
            f"<div><dd><bdi>{to_html(line)}</bdi></dd></div>" for line in facts_of(audit)
        ),
        legend="".join(
            f'<li class="{state}">{sign(state)} {each}</li>' for each, state in _STATES.items()
        ),
        drawing=draw(graph, states, _WORDS, places),
        rows="".join(
            f"<tr id={place[1:]!r}>{_row(node)}</tr>"
            for place, node in zip(places.values(), nodes, strict=True)
        ),
        outputs=_outputs(audit),
        operators=_operators(audit),
        audit=as_data(audit_document(audit)),
    )


def _row(node: NodeAudit) -> str:
    state = _STATES[node.verdict]
    lines = [*_lines(node)]
    cells = (
        f'<span class="status {state}">{sign(state)} {node.verdict}</span>',
        f"<bdi>{to_html(node.label)}</bdi>",
        "<br>".join(f"<bdi>{to_html(line)}</bdi>" for line in lines),
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _lines(node: NodeAudit) -> Iterator[str]:
    if node.reason:
        yield node.reason
    if node.worst is not None:
        yield from element_lines(node.worst)
    if node.bound and node.verdict is not Verdict.EXACT:
        yield f"admitted error: {node.bound}"
    for broken in node.broken:
        yield f"breaks {broken.rule.id}: {broken.reason}"


def _outputs(audit: Audit) -> str:
    if not audit.outputs:
        return ""
    rows = "".join(
        f"<tr><td><bdi>{to_html(each.name)}</bdi></td><td>{to_html(each.reason)}</td></tr>"
        if each.reason
        else f"<tr><td><bdi>{to_html(each.name)}</bdi></td><td>known to {each.width:.3g}; the run "
        f"is at most {each.distance:.3g} away ({each.units:,.1f} units)</td></tr>"
        for each in audit.outputs
    )
    return (
        '<section aria-labelledby="outputs-title"><h2 id="outputs-title">Outputs over the reals'
        f"</h2><table><tbody>{rows}</tbody></table></section>"
    )


def _operators(audit: Audit) -> str:
    heads = "".join(f'<th scope="col" class="number">{each}</th>' for each in (*Verdict, "units"))
    rows = "".join(
        f"<tr><td><bdi>{to_html(each.operator)}</bdi></td>"
        + "".join(f'<td class="number">{each.counts.get(v, 0):,}</td>' for v in Verdict)
        + f'<td class="number">{each.units:,}</td></tr>'
        for each in by_operator(audit.nodes)
    )
    return (
        f'<table><thead><tr><th scope="col">Operator</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
