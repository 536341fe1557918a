"""An exponent of one element is read for all, and is looked at once; the base is expanded.

ONNX Runtime broadcasts that element itself, so that no copies of it are made.
"""

import pytest

from support.proofs.broadcasts import NAME
from support.proofs.exponents import EXPANDED, SingleExponent
from support.proofs.guards import passes, reaching
from support.proofs.mutation import Mutation, number, off_by, operator, swapped
from support.proofs.slices import computing, depending
from support.proofs.theorem import prove, refute

KINDS = ("int64", "int32", "float")
FORMS = [
    SingleExponent(f"{kind}{base} X, {kind}{exponent} Y")
    for kind in KINDS
    for base, exponent in (
        ("[]", "[1]"),
        ("[]", "[1,1]"),
        ("[?]", "[1]"),
        ("[?,?]", "[1]"),
        ("[?,?,?]", "[1,1]"),
        ("[?,?,?,?]", "[1]"),
        ("[?]", "[1,1]"),
        ("[2,?]", "[1]"),
        ("[2,3]", "[1,1]"),
    )
]
FAULTS: list[tuple[SingleExponent, Mutation]] = [
    (form, fault)
    for form, faults in (
        (
            SingleExponent("int64[?,?] X, int64[1] Y"),
            (number("code", 2), number("code_2", 0), swapped("positive"), off_by("limit", 1)),
        ),
        (
            SingleExponent("int32[] X, int32[1] Y"),
            (operator("fits", "And"), swapped("rank_or_code"), off_by("limit", -1)),
        ),
        (SingleExponent("int64[2,3] X, int64[1,1] Y"), (number("code", 0), swapped("is_below"))),
    )
    for fault in faults
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_base_passes_exactly_if_the_rules_are_kept(form: SingleExponent) -> None:
    assert reaching(form.emitted, {NAME})[1] == "Y"
    for question in form.claims():
        prove(question)


@pytest.mark.parametrize("form", [form for form in FORMS if form.of_any_rank], ids=str)
def test_two_parts_are_the_whole_graph(form: SingleExponent) -> None:
    """What decides about elements waits for what expands."""
    nodes = [node for node in form.emitted.graph.node if node.name != NAME]
    read = reaching(form.emitted, {NAME})
    first = computing(form.emitted, [EXPANDED]).graph.node
    second = computing(form.emitted, read, [EXPANDED]).graph.node
    assert all(node in first or node in second for node in nodes)
    waiting = depending(form.emitted, [EXPANDED])
    assert all(node.output[0] in waiting for node in second if node.name)


@pytest.mark.parametrize(("form", "fault"), FAULTS, ids=str)
def test_fault_is_refuted_by_operands_that_show_it(form: SingleExponent, fault: Mutation) -> None:
    broken = fault.of(form.emitted)
    _, feeds = refute(form.small_shapes(broken))
    fits = form.fits(feeds)
    assert passes(broken, {NAME}, feeds) is not fits
    assert passes(form.emitted, {NAME}, feeds) is fits
