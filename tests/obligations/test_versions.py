"""Rules against kernels of ONNX Runtime, by the version that runs the model."""

from dataclasses import replace

import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.obligations.examination import examine_model
from sonnx_ort.obligations.obligation import Identity, Obligation
from sonnx_ort.options import choose_demands
from sonnx_ort.profile.catalog import RULES
from support.changes import unneeded
from support.graphs import parse
from support.waivers import waiver

DEMANDS = choose_demands("typed", "reject", "all,-Graph")
IDENTITY = Identity("", {}, {})

RUNTIME = "(int64[n] x, int64[n] z) => (int64[n] y) { [the_node] y = Max(x, z) }"
CONSTANT = """(int64[2] x) => (int64[2] y) <int64[2] z = {1, 3000000000}> {
    [the_node] y = Max(x, z)
}"""
WITHIN = """() => (int64[2] y) <int64[2] z = {1, 3}> { [the_node] y = Max(z, z) }"""

RIGHT = "onnxruntime computes it correctly since 1.32.0"
INSTALLED = (
    f"{RIGHT}, and no older version is installed; the native backend enforces it, because any "
    "version may run its model"
)
ANY = f"{RIGHT}, and any version may run the model"
OLDER = f"{RIGHT}, and an older version is installed"
UNKNOWN = "the elements of data_0 and data_1 are known only in a run"
HELD = "the constant data_1 'z' is an int64 beyond int32 at [1]"
PROVED = "every element of data_0 'z' lies in 1 to 3 and every element of data_1 'z' lies in 1 to 3"


def obligation(text: str, runtime: str | None) -> Obligation:
    model = ir.from_proto(parse(text))
    report = examine_model(model, DEMANDS, IDENTITY, runtime=runtime).report
    (found,) = (o for o in report.obligations if o.rule.id == "Max.int.C1")
    return found


@pytest.mark.parametrize(
    ("text", "runtime", "status", "evidence"),
    [
        (RUNTIME, None, "runtime", f"{UNKNOWN}; {ANY}"),
        (RUNTIME, "1.31.1", "runtime", f"{UNKNOWN}; {OLDER}"),
        (RUNTIME, "1.32.0", "proved", INSTALLED),
        (RUNTIME, "1.40.0", "proved", INSTALLED),
        (CONSTANT, None, "violated", f"{HELD}; {ANY}"),
        (CONSTANT, "1.31.1", "violated", f"{HELD}; {OLDER}"),
        (CONSTANT, "1.32.0", "proved", INSTALLED),
        (WITHIN, None, "proved", PROVED),
        (WITHIN, "1.31.1", "proved", PROVED),
        (WITHIN, "1.32.0", "proved", PROVED),
    ],
)
def test_status_and_evidence(text: str, runtime: str | None, status: str, evidence: str) -> None:
    found = obligation(text, runtime)
    assert (found.status.value, found.evidence) == (status, evidence)
    assert bool(found.hint) is (status == "violated")
    assert found.by_version is (evidence == INSTALLED)


def test_rules_of_the_profile_depend_on_no_version() -> None:
    model = ir.from_proto(parse("(int32[n] a) => (int32[n] y) { y = Div(a, a) }"))
    one, other = (
        examine_model(model, DEMANDS, IDENTITY, runtime=runtime).report.obligations
        for runtime in (None, "99.0.0")
    )
    assert one == other


def statuses(report: sonnx_ort.Report) -> list[str]:
    return [o.status.value for o in report.obligations if o.rule.id == "Max.int.C1"]


def test_check_is_for_a_backend() -> None:
    installed = "proved" if unneeded("python") else "violated"
    for operators in ("Max", "default"):
        python = sonnx_ort.check(parse(CONSTANT), operators=operators)
        native = sonnx_ort.check(parse(CONSTANT), operators=operators, backend="native")
        assert (statuses(python), statuses(native)) == ([installed], ["violated"])


def test_natively_enforced_model_keeps_its_guard() -> None:
    once = sonnx_ort.rewrite(parse(RUNTIME), operators="Max", backend="native")
    (found,) = (
        o
        for o in sonnx_ort.check(once, operators="default").obligations
        if o.rule.id == "Max.int.C1"
    )
    assert found.status.value == "runtime"
    assert found.evidence == f"{UNKNOWN}; {ANY}; the model checks it in each run"


def test_node_that_a_custom_operator_enforces_is_judged_likewise() -> None:
    once = sonnx_ort.rewrite(parse(RUNTIME), operators="Max")
    installed = "proved" if unneeded("python") else "runtime"
    assert statuses(sonnx_ort.check(once, operators="Max")) == [installed]


@pytest.mark.skipif(not unneeded("python"), reason="the installed version needs the rule")
def test_constant_that_only_newer_versions_compute_rightly_is_not_computed_before_runs() -> None:
    """The model keeps what checks it with an older version."""
    made = parse(CONSTANT.replace("int64[2] x", "").replace("Max(x, z)", "Max(z, z)"))
    rewritten = sonnx_ort.rewrite(made, operators="Max")
    assert "MaxOperands" in {node.op_type for node in rewritten.graph.node}
    session = sonnx_ort.InferenceSession(made, operators="Max")
    assert session.run(None, {})[0].tolist() == [1, 3_000_000_000]


@pytest.mark.skipif(not unneeded("python"), reason="the installed version needs the rule")
def test_waiver_of_a_rule_that_is_not_needed_is_for_nothing() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(parse(CONSTANT), operators="Max", waivers=[waiver("Max.int.C1")])
    assert str(caught.value) == (
        "the waiver of Max.int.C1 at node 'the_node' matches no violation: the rule is proved "
        "there; remove the waiver"
    )


@pytest.mark.parametrize(
    ("runtime", "needed"),
    [
        (None, True),
        ("1.31.1", True),
        ("1.9.0", True),
        ("1.32.0", False),
        ("1.32", True),
        ("1.32.0+cuda", False),
        ("1.32.0.dev20261001", True),
        ("1.32.1", False),
        ("2.0.0", False),
    ],
)
def test_versions_are_compared_by_numbers(runtime: str | None, needed: bool) -> None:
    assert RULES["Max.int.C1"].needed_with(runtime) is needed


def test_rule_that_names_no_release_is_an_error() -> None:
    with pytest.raises(ValueError, match="is needed before 'soon'") as caught:
        replace(RULES["Max.int.C1"], needed_before="soon")
    assert str(caught.value) == (
        "the rule Max.int.C1 is needed before 'soon', which is no release of onnxruntime; write "
        "numbers with dots"
    )
