"""Versions of operators that came later than what the profile is applied to."""

import dataclasses
from collections.abc import Mapping

import onnx.defs
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.kernel import catalog
from sonnx_ort.kernel.catalog import SHAPE_RULES
from sonnx_ort.knowledge import declarations as iteration
from sonnx_ort.obligations import targets
from sonnx_ort.obligations.targets import Target, is_of_known_version
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from support.backends import on_each_backend
from support.graphs import binary_model

NEWEST = onnx.defs.onnx_opset_version()

PROFILE = {name: OPERATORS[name].versions[-1] for name in STANDARD_OPERATORS}
SHAPES = {name: rule.since[1] for name, rule in SHAPE_RULES.items()}
BOUNDS = {name: last for name, (_, last) in catalog._OF_OPEN_RANK.items()}
ITERATIONS = dict.fromkeys(("Loop", "Scan"), iteration._LAST)
LISTS = {
    "the profile": PROFILE,
    "the list of shapes": SHAPES,
    "the list of bounds": BOUNDS,
    "the list of iterations": ITERATIONS,
}
"""By list the last version that it knows of each operator; of later ones it says nothing."""

_BFLOAT16 = "takes bfloat16, of which no kernel was tried"
_NO_INTEGERS = "takes no integers any more, of which the rule of older versions speaks"
_FLOAT6 = "takes floats of six bits, which ONNX Runtime has no types for"

NOT_KNOWN: Mapping[str, Mapping[tuple[str, int], str]] = {
    "the profile": {},
    "the list of shapes": {
        ("Celu", 28): "takes further floats, of which no kernel was tried",
        ("DepthToSpace", 28): "means the same, but no kernel of it was tried",
        ("DequantizeLinear", 28): _FLOAT6,
        ("Einsum", 28): _BFLOAT16,
        ("GlobalLpPool", 22): _BFLOAT16,
        ("OneHot", 28): _BFLOAT16,
        ("QuantizeLinear", 28): _FLOAT6,
        ("Range", 27): "has the attribute `stash_type`, and takes floats of 16 bits",
        ("ReduceLogSum", 28): _NO_INTEGERS,
        ("ReduceLogSumExp", 28): _NO_INTEGERS,
        ("ReverseSequence", 28): _BFLOAT16,
        ("SpaceToDepth", 28): "has the attribute `mode`",
        ("Upsample", 10): "is deprecated",
    },
    "the list of bounds": {("Compress", 28): _BFLOAT16, ("Unique", 28): _BFLOAT16},
    "the list of iterations": {},
}
"""By list the versions that it does not know, and why: nodes of them are refused, or unknown."""


def versions_in_onnx(name):
    schemas = onnx.defs.get_all_schemas_with_history()
    return {s.since_version for s in schemas if (s.domain, s.name) == (STANDARD_DOMAIN, name)}


def unknown_versions(listed):
    """The versions in the installed onnx that are later than what a list knows."""
    last = LISTS[listed]
    return {(name, v) for name in last for v in versions_in_onnx(name) if v > last[name]}


@pytest.mark.parametrize("listed", LISTS)
def test_every_later_version_is_known_or_is_left_out_for_a_reason(listed):
    new = sorted(unknown_versions(listed) - NOT_KNOWN[listed].keys())
    told = ", ".join(f"{name} of version {version}" for name, version in new)
    assert not new, (
        f"onnx {onnx.__version__} defines {told}, which {listed} does not know: find out what "
        "changed, and let the list know the version, or put it and the reason into NOT_KNOWN"
    )


@pytest.mark.parametrize("listed", LISTS)
def test_no_reason_is_given_for_a_version_that_is_known(listed):
    in_onnx = {key for key in NOT_KNOWN[listed] if key[1] <= NEWEST}
    assert in_onnx <= unknown_versions(listed)


@pytest.mark.parametrize("name", sorted(STANDARD_OPERATORS))
def test_profile_knows_every_version_up_to_its_last(name):
    older = {version for version in versions_in_onnx(name) if version <= PROFILE[name]}
    assert older == {version for version in OPERATORS[name].versions if version <= NEWEST}


@pytest.fixture
def mod_without_version_13(monkeypatch):
    """The profile as it would be if version 13 of Mod had come later; gives a model of it."""
    older = dataclasses.replace(OPERATORS["Mod"], versions=(10,))
    monkeypatch.setattr(targets, "OPERATORS", {**OPERATORS, "Mod": older})
    return binary_model("Mod", "int32", [2], [2], opset=13, node="the_node")


def test_later_version_is_refused(mod_without_version_13):
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(mod_without_version_13, operators=["Mod"])
    assert str(caught.value) == (
        "Mod 'the_node': version 13 of the standard operators changes Mod, and the rules apply "
        "only to earlier versions; export the model with version 12 of the standard operators"
    )


@on_each_backend
def test_no_backend_rewrites_a_later_version(mod_without_version_13):
    with pytest.raises(sonnx_ort.InvalidModel, match="changes Mod"):
        sonnx_ort.rewrite(mod_without_version_13, operators="all,-Graph")


def test_nothing_is_said_of_a_later_version_that_is_not_to_be_enforced(mod_without_version_13):
    report = sonnx_ort.check(mod_without_version_13, operators="default")
    assert [obligation for obligation in report.obligations if obligation.operator == "Mod"] == []


@pytest.mark.parametrize("version", [10, 13, min(NEWEST, 27), min(NEWEST, 28)])
def test_known_versions_are_taken(version):
    made = binary_model("Mod", "int32", [2], [2], opset=version)
    assert sonnx_ort.check(made, operators=["Mod"]).ok


def test_version_without_the_operator_is_left_to_the_checker():
    node = ir.node("Mod", [ir.val("a"), ir.val("b")])
    assert is_of_known_version(Target(node, OPERATORS["Mod"], "m", version=9))
