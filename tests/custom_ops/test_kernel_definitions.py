"""What ONNX Runtime is told of kernels, how they are registered, and what they need."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import onnx.defs
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from sonnx_ort.custom_ops.arithmetic import by_ufunc
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS, KERNEL_DEFINITIONS, _custom_operator
from sonnx_ort.custom_ops.definition import KERNEL_TYPES
from sonnx_ort.custom_ops.failure_channel import LOG, failed_guards
from sonnx_ort.custom_ops.inspection import Inspection
from sonnx_ort.custom_ops.kernel import CustomOperator, for_any_version, make_decision
from sonnx_ort.custom_ops.registration import LIBRARY_PATH
from sonnx_ort.errors import ContractViolation
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.element_type import CARRIERS, ElementType, Family
from sonnx_ort.profile.options import Edition
from support.child import run_python
from support.execution import kernel_of, kernel_with
from support.graphs import enforced_model
from support.sessions import quiet


def test_every_standard_operator_whose_rules_runs_can_violate_has_a_custom_one():
    checked = {name for name in STANDARD_OPERATORS if OPERATORS[name].checked_in_runs}
    assert checked <= CUSTOM_OPERATORS.keys() <= STANDARD_OPERATORS


@pytest.mark.parametrize(
    ("operator", "custom"),
    [
        ("Neg", CustomOperator),  # computes, and no run can violate a rule
        ("Pow", CustomOperator),  # checks alone
        ("Add", CustomOperator),  # does both
        ("MatMul", Inspection),
        ("Relu", type(None)),
    ],
)
def test_operator_has_a_custom_one_if_that_computes_or_checks(operator, custom):
    assert type(_custom_operator(OPERATORS[operator])) is custom


@pytest.mark.parametrize(
    ("operator", "rounds_once", "carriers"),
    [
        ("Add", True, CARRIERS),
        ("Add", False, {}),
        ("Pow", False, CARRIERS),
        ("Max", False, CARRIERS),
    ],
)
def test_result_that_may_not_be_rounded_twice_is_not_computed_in_a_wider_type(
    operator, rounds_once, carriers
):
    custom = _custom_operator(replace(OPERATORS[operator], rounds_once=rounds_once))
    assert custom.carriers == carriers


@pytest.mark.parametrize(
    ("operator", "name", "inputs", "output"),
    [
        ("Div", "CheckedDiv", ("float", "float"), "float"),
        ("Less", "CheckedLess", ("float", "float"), "bool"),
        ("Where", "CheckedWhere", ("bool", "float", "float"), "float"),
        ("PRelu", "PReluOperands", ("float", "float"), "float"),
        ("Max", "CheckedMax", ("float", "int64", "int64"), "float"),
        ("Concat", "ConcatOperands", ("int64", "int64"), "int64"),
    ],
)
def test_first_kernel_is_defined_with_its_types(operator, name, inputs, output):
    custom = CUSTOM_OPERATORS[operator]
    first = custom.definitions()[0]
    assert (first.inputs, first.output) == (inputs, output)
    assert first.operator is custom.operator
    attributes = ("node", "edition", *custom.operator.parameters)
    assert (first.name, first.attributes) == (name, attributes)


def test_no_custom_operator_has_the_name_of_an_operator_that_onnx_runtime_knows():
    """It follows sizes through some operators by name alone: finding R22."""
    known = {schema.name for schema in get_all_operator_schema()}
    known |= {schema.name for schema in onnx.defs.get_all_schemas_with_history()}
    assert len(known) > 300
    assert known.isdisjoint(definition.name for definition in KERNEL_DEFINITIONS)


@pytest.mark.parametrize("name", ["Div", "ZipMap", "Adam", "Upsample"])
def test_kernel_of_the_name_of_an_operator_of_onnx_is_refused(name):
    with pytest.raises(ValueError, match="choose another name") as caught:
        replace(KERNEL_DEFINITIONS[0], name=name)
    assert str(caught.value) == (
        f"the custom operator '{name}' has the name of an operator of ONNX, by which ONNX Runtime "
        "would guess what its kernel gives; choose another name"
    )


@pytest.mark.parametrize("edition", Edition)
def test_result_is_written_into_the_first_operand(edition):
    a, b = np.float32([1, 5]), np.float32([3, 4])
    result = by_ufunc(np.subtract)(a, b, edition=edition)
    assert result is a
    assert (a.tolist(), b.tolist()) == ([-2, 1], [3, 4])


def test_result_of_another_type_leaves_the_operands_as_they_are():
    a, b = np.float32([1, 5]), np.float32([3, 4])
    result = by_ufunc(np.less, in_place=False)(a, b, edition=Edition.TYPED)
    assert (result.dtype, result.tolist()) == (np.bool_, [True, False])
    assert (a.tolist(), b.tolist()) == ([1, 5], [3, 4])


def test_result_is_handed_over_in_the_type_of_the_kernel():
    kernel = kernel_with(Mock(return_value=np.float64([1])))
    result, _ = kernel(np.float32([1]), np.float32([1]), "n", "typed")
    assert result.dtype == np.float32


def test_kernel_that_cannot_finish_gives_nothing_of_its_type():
    result, shape = kernel_with(Mock(side_effect=ZeroDivisionError))(
        np.float32([1]), np.float32([1]), "n", "typed"
    )
    assert (result.dtype, result.size, shape.size) == (np.float32, 0, 1)


@pytest.mark.parametrize(("edition", "quotient"), [("typed", -np.inf), ("preliminary", np.inf)])
def test_kernel_computes_in_the_edition_of_the_node(edition, quotient):
    result, _ = kernel_of("Div", "float")(np.float32([-1]), np.float32([0]), "n", edition)
    assert result.tolist().tolist() == [quotient]


def session(model, **options):
    session_options = quiet()
    session_options.register_custom_ops_library(LIBRARY_PATH)
    for name, value in options.items():
        setattr(session_options, name, value)
    return ort.InferenceSession(model.SerializeToString(), session_options)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (2, 3), (1, 2, 1, 3, 1)], ids=str)
@pytest.mark.parametrize("element_type", KERNEL_TYPES)
def test_operator_runs_at_every_rank_and_on_nothing(element_type, shape):
    model = enforced_model("Div", element_type, rank=len(shape))
    a, b = (np.full(shape, value, element_type.dtype) for value in (6, 3))
    (result,) = session(model).run(None, {"A": a, "B": b})
    assert np.array_equal(result, np.full(shape, 2))


@pytest.mark.parametrize("edition", ["typed", "preliminary"])
def test_operands_may_be_one_and_the_same_value(edition):
    model = enforced_model("Div", ElementType.FLOAT, rank=1, edition=edition)
    model.graph.node[0].input[1] = "A"
    feeds = {"A": np.array([0, 2, -0.0], np.float32), "B": np.ones(3, np.float32)}
    (result,) = session(model).run(None, feeds)
    at_zero = {"typed": np.nan, "preliminary": np.inf}[edition]
    assert np.array_equal(result, [at_zero, 1, at_zero], equal_nan=True)


@pytest.mark.parametrize("edition", ["typed", "preliminary"])
def test_inputs_of_the_caller_are_left_as_they_are(edition):
    model = enforced_model("Div", ElementType.FLOAT, rank=1, edition=edition)
    feeds = {"A": np.array([1, 2], np.float32), "B": np.array([0, 4], np.float32)}
    session(model).run(None, feeds)
    assert (feeds["A"].tolist(), feeds["B"].tolist()) == ([1, 2], [0, 4])


@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize("element_type", KERNEL_TYPES)
def test_violation_fails_the_run_under_its_ticket(operator, element_type):
    model = enforced_model(operator, element_type, rank=1)
    feeds = {"A": np.ones(3, element_type.dtype), "B": np.ones(1, element_type.dtype)}
    with pytest.raises(Exception, match="A dimension cannot be less than -1, got -") as caught:
        session(model).run(None, feeds)
    (guard,) = failed_guards(str(caught.value))
    error = LOG.take(guard.ticket)
    assert error.rule == f"{operator}.{element_type.family}.R1"


def test_registering_needs_no_more_than_an_import_and_survives_a_second_one():
    child = run_python(
        """
        import importlib
        import numpy as np, onnxruntime as ort
        from support.graphs import enforced_model
        from sonnx_ort.custom_ops import registration
        assert importlib.import_module("sonnx_ort.custom_ops.registration") is registration
        options = ort.SessionOptions()
        options.register_custom_ops_library(registration.LIBRARY_PATH)
        model = enforced_model("Sub", "int64", rank=0)
        session = ort.InferenceSession(model.SerializeToString(), options)
        print(session.run(None, {"A": np.array(5), "B": np.array(7)})[0])
        """,
        fresh=True,
    )
    assert (child.exit_status, child.stdout) == (0, "-2\n"), child


def test_importing_the_package_does_not_import_onnxruntime_extensions():
    child = run_python(
        """
        import sys
        import sonnx_ort, sonnx_ort.custom_ops
        print("onnxruntime_extensions" in sys.modules)
        """,
        fresh=True,
    )
    assert (child.exit_status, child.stdout) == (0, "False\n"), child


INT64 = np.dtype(np.int64)
SMALLEST = -(2**63)


def refused(operator: str, operands: list[list[int]], runtime: str, edition: str) -> str | None:
    """The rule for which a kernel refuses operands; None if it does not."""
    found = OPERATORS[operator]
    decided = make_decision(
        found, lambda edition: found.rules(edition, Family.INTEGER), INT64, runtime
    )
    outputs = decided([np.array(o, INT64) for o in operands], "the_node", edition, {})
    if outputs is None:
        return None
    error = LOG.take(-int(np.asarray(outputs[1])[0]))
    assert isinstance(error, ContractViolation)
    return error.rule


@pytest.mark.parametrize(
    ("operator", "operands", "rule"),
    [
        ("Max", [[3], [3_000_000_000]], "Max.int.C1"),
        ("Min", [[3], [3_000_000_000]], "Min.int.C1"),
        ("Mod", [[SMALLEST], [-1]], "Mod.int.C2"),
    ],
)
def test_version_decides_what_is_checked(
    operator: str, operands: list[list[int]], rule: str
) -> None:
    for edition in Edition:
        assert refused(operator, operands, "1.31.1", edition.value) == rule
        assert refused(operator, operands, "1.32.0", edition.value) is None
        assert refused(operator, operands, "1.32.0", for_any_version(edition)) == rule


def test_rule_of_the_profile_is_checked_with_every_version() -> None:
    assert refused("Mod", [[1], [0]], "99.0.0", "typed") == "Mod.int.C1"
