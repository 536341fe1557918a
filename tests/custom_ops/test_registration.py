"""The domain's operators in ONNX Runtime, without the rewriting pass."""

import concurrent.futures

import numpy as np
import onnxruntime as ort
import pytest

from sonnx_ort.custom_ops.definition import KERNEL_TYPES
from sonnx_ort.custom_ops.failure_channel import LOG, failed_guards
from sonnx_ort.custom_ops.registration import LIBRARY_PATH
from sonnx_ort.profile.element_type import ElementType
from support.child import run_python
from support.graphs import enforced_model
from support.sessions import quiet


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


def test_session_works_on_after_a_violation():
    running = session(enforced_model("Div", ElementType.INT32, rank=1))
    with pytest.raises(Exception, match="got -"):
        running.run(None, {"A": np.array([1], np.int32), "B": np.array([0], np.int32)})
    (result,) = running.run(None, {"A": np.array([-7], np.int32), "B": np.array([2], np.int32)})
    assert result.tolist() == [-3]


def test_threads_on_one_session_get_their_own_violations():
    running = session(enforced_model("Div", ElementType.INT32, rank=1), inter_op_num_threads=2)

    def dividend_of_violation(dividend):
        feeds = {"A": np.array([dividend], np.int32), "B": np.array([0], np.int32)}
        with pytest.raises(Exception, match="got -") as caught:
            running.run(None, feeds)
        return LOG.take(failed_guards(str(caught.value))[0].ticket).values[0]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(dividend_of_violation, range(200))) == list(range(200))


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
