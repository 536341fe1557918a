"""Operators outside the set are written by operators of the set in each version that has them."""

import itertools
import re
from collections.abc import Iterable

import onnx
import pytest
from conforming.test_templates import BY_FUNCTION, CASES

import sonnx_ort
from sonnx_ort.conforming.decomposing import SAME_SINCE
from support.conformed import reasons
from support.decomposed import Case


def valid(case: Case, opsets: Iterable[int]) -> dict[int, onnx.ModelProto]:
    """The models of a case, by those versions of the standard operators that have its node."""
    models = {opset: case.model(case.dtypes[0], opset) for opset in opsets}
    for opset, model in [*models.items()]:
        for value in model.graph.output:
            value.type.tensor_type.shape.SetInParent()  # that of a scalar is not written
        try:
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
            del models[opset]
    return models


@pytest.mark.parametrize("operator", sorted({case.node for case in CASES} - {"A = STFT(X, S, W)"}))
def test_earliest_version_gives_a_valid_model_or_the_reason(operator: str) -> None:
    """Version 9 slices by attributes, and has fewer operators.

    Of this STFT inference of onnx gives a false size.
    """
    case = next(case for case in CASES if case.node == operator)
    model = next(iter(valid(case, range(9, 26)).values()))
    found = sonnx_ort.conform(model, rounding=True, measure=False)
    onnx.checker.check_model(found.model, full_check=True)
    assert all(reason for _, reason in found.remaining)


EARLY = re.compile(r"A = (Reduce\w+ <axes|DFT <axis|MeanVarianceNormalization|STFT)")
"""Forms that version 20 has no more: what were attributes are inputs.

MeanVarianceNormalization and STFT are there, but inference of onnx gives an error or a false size.
"""

NODES = sorted({case.node for case in CASES + BY_FUNCTION})


@pytest.mark.parametrize("operator", [node for node in NODES if not EARLY.match(node)])
def test_every_later_version_is_written_as_well(operator: str) -> None:
    case = next(case for case in CASES + BY_FUNCTION if case.node == operator)
    models = valid(case, range(max(20, *case.opsets), 26))
    assert models
    found = {opset: reasons(model, rounding=True, measure=False) for opset, model in models.items()}
    assert found == {opset: {} for opset in models}


@pytest.mark.parametrize("operator", sorted(SAME_SINCE))
def test_later_versions_that_count_as_the_same_only_add(operator: str) -> None:
    """More types, and inputs and attributes that may be left out."""
    schemas = [onnx.defs.get_schema(operator, each, "") for each in range(SAME_SINCE[operator], 26)]
    for one, other in itertools.pairwise(schemas):
        kept, added = other.inputs[: len(one.inputs)], other.inputs[len(one.inputs) :]
        for before, after in zip(one.inputs, kept, strict=True):
            assert (before.option, before.types <= after.types) == (after.option, True)
        assert {each.option.name for each in added} <= {"Optional"}
        given = {name: _form(each) for name, each in other.attributes.items()}
        assert {name: _form(each) for name, each in one.attributes.items()}.items() <= given.items()
        new = given.keys() - one.attributes.keys()
        assert [name for name in new if other.attributes[name].required] == []


def _form(attribute: onnx.defs.OpSchema.Attribute) -> tuple[object, ...]:
    return attribute.type, attribute.required, attribute.default_value.SerializeToString()
