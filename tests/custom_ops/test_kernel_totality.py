"""Kernels return whatever comes in: an exception in one would end the process."""

import logging
from unittest.mock import Mock

import numpy as np
import pytest

from sonnx_ort.custom_ops.failure_channel import KERNEL_FAILURE, LOG
from sonnx_ort.errors import SonnxError
from support.execution import failure_of, kernel_of, kernel_with


def ones(shape, dtype=np.float32):
    return np.ones(shape, dtype)


class Unprintable(Exception):  # noqa: N818 - what it is matters, not that it is an error
    def __str__(self):
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("no room"), "MemoryError: no room"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (SystemExit(3), "SystemExit: 3"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (FloatingPointError("overflow"), "FloatingPointError: overflow"),
        (RuntimeWarning("a warning turned into an error"), "RuntimeWarning: a warning turned "),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_kernel_records_whatever_its_arithmetic_raises(error, message):
    kernel = kernel_with(Mock(side_effect=error))
    code, recorded = failure_of(kernel(ones(3), ones(3), "the_node", "typed"))
    expected = f"sonnx::CheckedDiv, node 'the_node': the kernel could not finish: {message}"
    assert (code, str(recorded)[: len(expected)]) == (KERNEL_FAILURE, expected)


def test_recorded_failure_keeps_what_caused_it():
    cause = MemoryError("no room")
    kernel = kernel_with(Mock(side_effect=cause))
    _, recorded = failure_of(kernel(ones(3), ones(3), "the_node", "typed"))
    assert recorded.__cause__ is cause


def test_kernel_survives_an_error_without_text():
    kernel = kernel_with(Mock(side_effect=Unprintable))
    code, _ = failure_of(kernel(ones(3), ones(3), "the_node", "typed"))
    assert code == KERNEL_FAILURE


@pytest.mark.parametrize(
    ("a", "b", "node", "edition", "message"),
    [
        pytest.param(ones(3), ones(3), "n", "draft", "KeyError: 'draft'", id="unknown edition"),
        pytest.param(ones(3), ones(3), "n", None, "KeyError: None", id="no edition"),
        pytest.param(None, None, "n", "typed", "AttributeError: ", id="no arrays"),
        pytest.param(
            ones(3), ones(3, np.complex64), "n", "typed", "UFuncTypeError: ", id="complex divisor"
        ),
        pytest.param(
            np.array(["a"]),
            np.array(["b"]),
            "n",
            "typed",
            "ValueError: could not convert",
            id="strings",
        ),
    ],
)
def test_kernel_records_that_it_could_not_finish(a, b, node, edition, message):
    code, recorded = failure_of(kernel_of("Div", "float")(a, b, node, edition))
    expected = f"sonnx::CheckedDiv, node 'n': the kernel could not finish: {message}"
    assert (code, type(recorded), str(recorded)[: len(expected)]) == (
        KERNEL_FAILURE,
        SonnxError,
        expected,
    )


def test_kernel_fails_even_where_nothing_can_be_recorded(monkeypatch):
    monkeypatch.setattr(LOG, "record", Mock(side_effect=MemoryError))
    result, shape = kernel_of("Div", "float")(ones(3), ones(1), "the_node", "typed")
    assert (result.shape, shape.tolist().tolist()) == ((0,), [-KERNEL_FAILURE])


class RaisingHandler(logging.Handler):
    def emit(self, record):
        del record
        raise RuntimeError("the log is full")


def test_kernel_survives_a_logging_handler_that_raises():
    logger, handler = logging.getLogger("sonnx_ort"), RaisingHandler()
    logger.addHandler(handler)
    try:
        outputs = kernel_of("Div", "float")(ones(3), ones(1), "the_node", "typed")
    finally:
        logger.removeHandler(handler)
    _, recorded = failure_of(outputs)
    assert recorded.rule == "Div.float.R1"
