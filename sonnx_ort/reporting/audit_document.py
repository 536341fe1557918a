"""An audit as JSON."""

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from sonnx_ort.errors import to_json
from sonnx_ort.profile.contract import contract_document
from sonnx_ort.runs.audit.audit import Audit
from sonnx_ort.runs.audit.verdicts import (
    NodeAudit,
)

FORMAT = "sonnx_ort.audit/1"
"""The name and version of the JSON format; an incompatible change increments the version."""


def audit_document(audit: Audit) -> dict[str, object]:
    """An audit as dictionaries and lists."""
    return {
        "format": FORMAT,
        "ok": audit.ok,
        "source": audit.source,
        "inputs": dict(audit.inputs),
        "edition": audit.demands.edition.value,
        "broadcast": audit.demands.broadcasting.value,
        "operators": sorted(audit.demands.operators),
        "contract": contract_document(audit.demands.contract),
        "settings": audit.settings or None,
        "samples": audit.sampling.samples,
        "seed": audit.sampling.seed,
        "random_inputs": audit.seed is not None,
        "random": {
            name: {"dtype": dtype, "shape": list(shape)}
            for name, (dtype, shape) in audit.random.items()
        },
        "open_sizes": dict(audit.open_sizes),
        "counts": {str(verdict): count for verdict, count in audit.counts.items()},
        "unit": "unit in the last place: the step to the next number of the type",
        "not_run": audit.not_run,
        "unlike": list(audit.unlike),
        "nodes": [_node_document(node) for node in audit.nodes],
        "outputs": [_parts(output, _OF_OUTPUT) for output in audit.outputs],
        "errors": None if audit.errors is None else dict(audit.errors),
        "bounded": [asdict(value) for value in audit.bounded],
    }


_OF_OUTPUT = ("name", "reason", "width", "distance", "units", "index")


_OF_NODE = (
    *("node", "operator", "path", "verdict", "elements", "audited", "undefined", "bound"),
    *("origin", "reason"),
)


_OF_ELEMENT = (
    *("result", "index", "operands", "found", "exact", "admitted", "units", "admitted_units"),
    "share",
)
"""What a document says of an output that is enclosed, of a node, and of an element."""


def _parts(of: object, names: Iterable[str]) -> dict[str, Any]:
    """Attributes by their names, as JSON holds them: it has lists, and no infinite share."""
    found = ((name, getattr(of, name)) for name in names)
    parts = {name: list(value) if isinstance(value, tuple) else value for name, value in found}
    return parts | ({"share": None} if parts.get("share") == math.inf else {})


def _node_document(node: NodeAudit) -> dict[str, object]:
    return _parts(node, _OF_NODE) | {
        "apart": list(node.recomputed),
        "worst": node.worst and _parts(node.worst, _OF_ELEMENT),
        "broken": [
            {"rule": broken.rule.id, **_parts(broken, ("reason", "index"))}
            | {"values": broken.values and [*map(str, broken.values)]}
            for broken in node.broken
        ],
    }


def audit_json(audit: Audit) -> str:
    """An audit in JSON."""
    return to_json(audit_document(audit), indent=2)
