"""Versions of operators that are known, and the types that they take."""

import dataclasses
from collections.abc import Mapping

import onnx.defs
import onnx_ir as ir
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.analysis import ruled_nodes
from sonnx_ort.analysis.ruled_nodes import RuledNode, is_of_known_version
from sonnx_ort.analysis.schema_parameters import numeric_types
from sonnx_ort.facts import iterations as iteration
from sonnx_ort.facts.catalog import SHAPE_RULES
from sonnx_ort.facts.operators import RULES
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from support.backends import on_each_backend
from support.graphs import binary_model, parse

NEWEST = onnx.defs.onnx_opset_version()

PROFILE = {name: OPERATORS[name].versions[-1] for name in STANDARD_OPERATORS}
SHAPES = {name: rule.since[1] for name, rule in SHAPE_RULES.items()}
BOUNDS = {name: rules.since[1] for name, rules in RULES.items() if name not in SHAPE_RULES}
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
    monkeypatch.setattr(ruled_nodes, "OPERATORS", {**OPERATORS, "Mod": older})
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
    assert is_of_known_version(RuledNode(node, OPERATORS["Mod"], "m", version=9))


FIRST = {
    ElementType.FLOAT16: 1,
    ElementType.FLOAT: 1,
    ElementType.DOUBLE: 1,
    ElementType.INT32: 6,
    ElementType.INT64: 6,
    ElementType.UINT32: 6,
    ElementType.UINT64: 6,
    ElementType.BFLOAT16: 13,
    ElementType.INT8: 14,
    ElementType.INT16: 14,
    ElementType.UINT8: 14,
    ElementType.UINT16: 14,
}
"""The first version of Div and Sub that takes each type."""

VERSIONS = [1, 6, 7, 13, 14]


@pytest.mark.satisfies("Div.onnx.types_1 Div.onnx.types_7 Div.onnx.types_13 Div.onnx.types_14")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("element_type", FIRST)
@pytest.mark.parametrize("operator", ["Div", "Sub"])
def test_type_is_taken_from_its_version_on(
    operator: str, element_type: ElementType, version: int
) -> None:
    made = binary_model(operator, element_type, [2], [2], opset=version, node="the_node")
    if version >= FIRST[element_type]:
        assert sonnx_ort.check(made, operators="default").ok
        return
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(made, operators="default")
    assert str(caught.value) == (
        f"{operator} 'the_node': A is {element_type}, which {operator} supports from version "
        f"{FIRST[element_type]} of the standard operators on, but the model imports version "
        f"{version}; convert the model, for example with onnx.version_converter"
    )


@on_each_backend
@pytest.mark.parametrize(("element_type", "version"), [("int32", 1), ("bfloat16", 7), ("int8", 13)])
def test_no_backend_makes_such_a_model_run(element_type: str, version: int) -> None:
    made = binary_model("Div", element_type, [2], [2], opset=version)
    with pytest.raises(sonnx_ort.InvalidModel):
        sonnx_ort.rewrite(made)
    with pytest.raises(Exception, match=r"invalid|Could not find an implementation"):
        ort.InferenceSession(made.SerializeToString())


def test_type_that_is_not_numeric_breaks_a_rule_and_not_the_model() -> None:
    report = sonnx_ort.check(binary_model("Div", "bool", [2], [2], opset=7), operators="default")
    assert [o.rule.id for o in report.violations] == ["Div.float.R2"]


def test_type_that_no_version_takes() -> None:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(
            parse("(int32[2] a) => (int32[2] b) { [root] b = Sqrt(a) }"), operators="default"
        )
    assert str(caught.value) == (
        "Sqrt 'root': X is int32, which no version of Sqrt supports; convert the operand with Cast"
    )


def test_type_of_the_second_operand_alone_is_looked_at_too() -> None:
    made = parse("(float[2] a, bfloat16[2] b) => (float[2] c) { [n] c = Add(a, b) }", opset=7)
    with pytest.raises(sonnx_ort.InvalidModel, match="Add 'n': B is bfloat16, which Add supports"):
        sonnx_ort.check(made, operators="default")


def test_type_that_only_the_newest_version_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx.defs, "onnx_opset_version", lambda: FIRST[ElementType.BFLOAT16])
    made = binary_model("Div", "bfloat16", [2], [2], opset=7)
    with pytest.raises(sonnx_ort.InvalidModel, match="which Div supports from version 13"):
        sonnx_ort.check(made, operators="default")


def test_operators_of_other_domains_have_types_too() -> None:
    (tensors, indices) = numeric_types("ArrayFeatureExtractor", 1, "ai.onnx.ml")
    assert (ElementType.FLOAT in tensors, indices) == (True, {ElementType.INT64})


@pytest.mark.parametrize("name", sorted(SHAPE_RULES))
def test_default_that_is_written_down_leaves_a_version_known(name: str) -> None:
    """`conform` writes the defaults of attributes into the file."""
    rule = SHAPE_RULES[name]
    versions = {onnx.defs.get_schema(name, v).since_version for v in range(*rule.since)}
    for version in sorted({*versions, rule.since[1]} - set(range(rule.since[0]))):
        for attribute in onnx.defs.get_schema(name, version).attributes.values():
            if attribute.default_value.name:
                value = onnx.helper.get_attribute_value(attribute.default_value)
                value = value.decode() if isinstance(value, bytes) else value
                assert value in rule.attributes.get(attribute.name, ()), (version, attribute.name)
