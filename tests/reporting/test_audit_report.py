"""An audit as text: no bound is smaller than it is."""

import numpy as np
import pytest

from sonnx_ort.options import choose_demands
from sonnx_ort.reporting.audit_report import (
    bound_in_words,
    distance_in_words,
    heading_of_errors,
    verdict_of,
)
from sonnx_ort.runs.audit.audit import Audit
from sonnx_ort.runs.audit.enclosing import EnclosedOutput
from sonnx_ort.runs.audit.error_bounds import BoundedValue
from sonnx_ort.runs.audit.verdicts import NodeAudit, Sampling, Verdict


@pytest.mark.parametrize(("bound", "enclosed", "text"), [
    (0.0010049, 0.0010049, "at most 0.00101 (a.md); enclosed: at most 0.00101"),
    (0.001, None, "at most 0.001 (a.md); enclosed: not"),
])  # fmt: skip
def test_bounds_of_errors_are_rounded_up(bound: float, enclosed: float | None, text: str) -> None:
    value = BoundedValue("z", "Div 'd'", bound, "a.md", enclosed=enclosed)
    assert bound_in_words(value) == text


@pytest.mark.parametrize(("error", "text"), [
    (0.001, "0.001"), (1.0, "1"), (0.123456789, "0.123456789"), (1e-5, "1e-05"),
])  # fmt: skip
def test_errors_of_inputs_have_all_of_their_digits(error: float, text: str) -> None:
    assert heading_of_errors({"x": error, "y": 0.0}) == (
        f"errors of values, if x is off by at most {text}"
    )


@pytest.mark.parametrize(("units", "text"), [(0.54321, "0.544"), (0.5, "0.5"), (1234.5, "1,235")])
def test_distances_of_outputs_are_rounded_up(units: float, text: str) -> None:
    nothing = np.zeros(1)
    output = EnclosedOutput("z", (1,), nothing, nothing, 0.0010049, 2.0019, units)
    assert distance_in_words(output) == (
        f"known to 0.00101; the run is at most 2.01 ({text} units in the last place) beyond that"
    )


EXACT, ADMITTED, UNKNOWN, OUTSIDE = (
    Verdict.EXACT,
    Verdict.ADMITTED,
    Verdict.NOT_KNOWN,
    Verdict.OUTSIDE,
)


@pytest.mark.parametrize(("nodes", "verdict", "sentence"), [
    ([EXACT, EXACT], EXACT, "Exact: 2 nodes of 2 gave exact results."),
    ([EXACT, ADMITTED], ADMITTED, "Kept: 2 nodes of 2 gave exact or admitted results."),
    ([EXACT, UNKNOWN], UNKNOWN,
     "Not all judged: 1 node of 2 gave exact results; 1 could not be judged."),
    ([ADMITTED, EXACT, UNKNOWN, UNKNOWN], UNKNOWN,
     "Not all judged: 2 nodes of 4 gave exact or admitted results; 2 could not be judged."),
    ([UNKNOWN], UNKNOWN, "Nothing is known of the 1 node of this run."),
    ([OUTSIDE, UNKNOWN], OUTSIDE,
     "Outside: 1 node of 2 gave results outside the admitted error."),
])  # fmt: skip
def test_audit_is_kept_only_if_all_nodes_were_judged(
    nodes: list[Verdict], verdict: Verdict, sentence: str
) -> None:
    audited = tuple(NodeAudit(f"n{place}", "Exp", verdict=v) for place, v in enumerate(nodes))
    demands = choose_demands("typed", "reject", "profile")
    audit = Audit(audited, demands, Sampling(), "a run", {})
    assert verdict_of(audit) == (verdict, sentence)
