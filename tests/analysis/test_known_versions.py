"""Versions of operators that came later than what the profile is applied to."""

import onnx.defs
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.analysis.onnx_schemas import is_of_known_version
from sonnx_ort.analysis.targets import Target
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from support.backends import on_each_backend
from support.graphs import binary_model

LATER = {"BitShift": 28, "Cast": 28, "Mod": 28}
"""The first version of the standard operators that defines an operator anew."""

NEWEST = onnx.defs.onnx_opset_version()

where_there_is_one = pytest.mark.skipif(NEWEST < 28, reason="this onnx knows no such version")


def later_mod():
    return binary_model("Mod", "int32", [2], [2], opset=LATER["Mod"], node="the_node")


def versions_in_onnx(name):
    schemas = onnx.defs.get_all_schemas_with_history()
    return {s.since_version for s in schemas if (s.domain, s.name) == (STANDARD_DOMAIN, name)}


@pytest.mark.parametrize(
    "name", [name for name, operator in OPERATORS.items() if operator.domain == STANDARD_DOMAIN]
)
def test_every_version_of_an_operator_is_known_but_those_that_are_refused(name):
    unknown = versions_in_onnx(name) - set(OPERATORS[name].versions)
    assert unknown == {LATER.get(name)} & versions_in_onnx(name)


@where_there_is_one
def test_later_version_is_refused():
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(later_mod(), operators=["Mod"])
    assert str(caught.value) == (
        "Mod 'the_node': version 28 of the standard operators defines Mod anew, and the profile is "
        "applied to versions before that alone; export the model with version 27 of the standard "
        "operators"
    )


@on_each_backend
@where_there_is_one
def test_no_backend_rewrites_a_later_version():
    with pytest.raises(sonnx_ort.InvalidModel, match="defines Mod anew"):
        sonnx_ort.rewrite(later_mod(), operators="all")


@where_there_is_one
def test_nothing_is_said_of_a_later_version_that_is_not_to_be_enforced():
    report = sonnx_ort.check(later_mod())
    assert [obligation for obligation in report.obligations if obligation.operator == "Mod"] == []


@pytest.mark.parametrize("version", [10, 13, min(NEWEST, 27)])
def test_known_versions_are_taken(version):
    made = binary_model("Mod", "int32", [2], [2], opset=version)
    assert sonnx_ort.check(made, operators=["Mod"]).ok


def test_version_without_the_operator_is_left_to_the_checker():
    node = ir.node("Mod", [ir.val("a"), ir.val("b")])
    assert is_of_known_version(Target(node, OPERATORS["Mod"], "m", version=9))
