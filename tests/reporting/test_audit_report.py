"""An audit as text: no bound is smaller than it is."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from sonnx_ort.options import choose_demands
from sonnx_ort.reporting.audit_document import audit_document
from sonnx_ort.reporting.audit_report import (
    audit_junit,
    bound_in_words,
    distance_in_words,
    facts_of,
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


@pytest.mark.parametrize(("index", "text"), [
    (None, ""), ((), "; the run is further away at []"),
    ((0, 2), "; the run is further away at [0, 2]"),
])  # fmt: skip
def test_element_that_is_further_away_is_named_that_of_a_scalar_too(
    index: tuple[int, ...] | None, text: str
) -> None:
    value = BoundedValue("z", "Div 'd'", 0.5, "a.md", enclosed=0.5, exceeded=index)
    assert bound_in_words(value) == f"at most 0.5 (a.md); enclosed: at most 0.5{text}"


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
    audit = audit_of(*nodes)
    assert verdict_of(audit) == (verdict, sentence)


def audit_of(*verdicts: Verdict, unlike: tuple[str, ...] = ()) -> Audit:
    nodes = tuple(
        NodeAudit(f"n{k}", "Exp", verdict=v, reason="why") for k, v in enumerate(verdicts)
    )
    demands = choose_demands("typed", "reject", "profile")
    return Audit(nodes, demands, Sampling(), "a run", {}, unlike=unlike)


def test_outputs_that_observing_changed_are_named() -> None:
    told = "the results of the run itself were audited"
    facts = facts_of(audit_of(EXACT, unlike=("y", "z")))
    assert facts["observing the values changed 'y', 'z'"] == told
    assert told not in facts_of(audit_of(EXACT)).values()


def test_nodes_outside_fail_and_those_that_are_not_known_are_skipped() -> None:
    document = audit_junit(audit_of(EXACT, ADMITTED, UNKNOWN, OUTSIDE, OUTSIDE))
    suite = ET.fromstring(document)  # noqa: S314 - our own document
    outcomes = [(case.attrib["name"], [each.tag for each in case]) for case in suite]
    assert outcomes == [
        ("n0", []), ("n1", []), ("n2", ["skipped"]), ("n3", ["failure"]), ("n4", ["failure"])
    ]  # fmt: skip
    assert {name: suite.attrib[name] for name in ("tests", "failures", "skipped")} == {
        "tests": "5",
        "failures": "2",
        "skipped": "1",
    }


@pytest.mark.parametrize(("seed", "random"), [(None, False), (0, True), (7, True)])
def test_document_says_whether_inputs_are_random_with_any_seed(
    seed: int | None, random: bool
) -> None:
    document = audit_document(replace(audit_of(EXACT), seed=seed))
    assert document["random_inputs"] is random
