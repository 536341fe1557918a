"""How an obligation is met, or why it is not."""

import enum

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.judgement import Status
from sonnx_ort.recording.record import Document


class Fulfilment(enum.StrEnum):
    """The ways in which an obligation can be met or missed."""

    PROVED = "proved"
    IN_RUN = "checked in each run"
    AT_START = "checked at the start"
    LEFT = "left to runs"
    NOT_ENFORCED = "not enforced"
    WAIVED = "waived"
    MISSED = "missed"

    @property
    def is_met(self) -> bool:
        """Whether no run goes on in which the rule is broken."""
        return self in _MET

    @property
    def reasoning(self) -> str:
        """The way in a sentence."""
        return _REASONING[self]


_MET = frozenset({Fulfilment.PROVED, Fulfilment.IN_RUN, Fulfilment.AT_START})

_REASONING = {
    Fulfilment.PROVED: "It holds in every run; the evidence says why.",
    Fulfilment.IN_RUN: "The rewritten model decides it in each run, and ends a run that breaks it.",
    Fulfilment.AT_START: "ONNX Runtime starts no session in which these types differ.",
    Fulfilment.LEFT: "It is left to each run, and no rewritten model is recorded that decides it.",
    Fulfilment.NOT_ENFORCED: "It is not among what was asked to be enforced, and nothing does.",
    Fulfilment.WAIVED: "It fails in every run that reaches the node; a waiver tolerates that.",
    Fulfilment.MISSED: "It fails in every run that reaches the node.",
}


def fulfilment(obligation: Document, *, checked: bool) -> Fulfilment:
    """Say how an obligation is met.

    Args:
        obligation: The obligation of the original model, as in a report.
        checked: Whether the analysis of a rewritten model found that this one decides it in runs.
    """
    waiver = obligation["waiver"]
    match Status(str(obligation["status"])):
        case Status.PROVED:
            return Fulfilment.PROVED
        case Status.VIOLATED if isinstance(waiver, dict) and not waiver["expired"]:
            return Fulfilment.WAIVED
        case Status.VIOLATED:
            return Fulfilment.MISSED
        case Status.RUNTIME if not obligation["enforced"]:
            return Fulfilment.NOT_ENFORCED
        case Status.RUNTIME if not RULES[str(obligation["rule"])].in_run:
            return Fulfilment.AT_START
        case Status.RUNTIME:
            return Fulfilment.IN_RUN if checked else Fulfilment.LEFT
