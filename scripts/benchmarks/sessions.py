"""Makes ready what is timed: each function gives a call that computes the outputs of a model."""

import os
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from onnxruntime_extensions import PyOp, onnx_op
from plain_sessions import PROVIDERS, make_options, start

from benchmarks.measurement import Feeds, Setting, make_model
from benchmarks.turns import Run
from sonnx_ort import InferenceSession, register, rewrite
from sonnx_ort.backends import BackendChoice

# Imports register the operators of both domains, which has to happen before the first session.
from sonnx_ort.custom_ops.registration import LIBRARY_PATH

_PLAIN_DOMAIN = "plain"

Array = npt.NDArray[Any]


def start_onnxruntime(setting: Setting, feeds: Feeds) -> Run:
    """The model as it is, in ONNX Runtime."""
    return _run_of(make_model(setting), make_options(setting.threads), feeds)


def start_rewritten(setting: Setting, feeds: Feeds, backend: BackendChoice) -> Run:
    """The model rewritten with a backend, in ONNX Runtime."""
    model = rewrite(make_model(setting).SerializeToString(), backend=backend)
    return _run_of(model, register(make_options(setting.threads), backend=backend), feeds)


start_compiled = partial(start_rewritten, backend="compiled")
start_native = partial(start_rewritten, backend="native")
start_python = partial(start_rewritten, backend="python")


def start_session(setting: Setting, feeds: Feeds) -> Run:
    """The model in `sonnx_ort.InferenceSession` with the native backend."""
    session = InferenceSession(
        make_model(setting), make_options(setting.threads), backend="native", providers=PROVIDERS
    )
    return partial(session.run, None, feeds)


def start_plain(setting: Setting, feeds: Feeds) -> Run:
    """The model with the kernel that anyone would write first in Python."""
    model = make_model(setting)
    model.opset_import.append(onnx.helper.make_opsetid(_PLAIN_DOMAIN, 1))
    for node in model.graph.node:
        node.domain = _PLAIN_DOMAIN
    options = make_options(setting.threads)
    options.register_custom_ops_library(LIBRARY_PATH)
    return _run_of(model, options, feeds)


def start_reference(setting: Setting, feeds: Feeds) -> Run:
    """The model in the reference evaluator of ONNX, which numpy computes."""
    return partial(ReferenceEvaluator(make_model(setting)).run, None, feeds)


def start_jit(setting: Setting, feeds: Feeds) -> Run:
    """The same division compiled by JAX. The operands lie on the device before it is timed."""
    jax, operands = _in_jax(setting, feeds)
    divide = jax.jit(jax.lax.div)
    return lambda: [divide(*operands).block_until_ready()]


def start_checkify(setting: Setting, feeds: Feeds) -> Run:
    """The division of JAX with `div_checks`, which look for zero divisors alone."""
    jax, operands = _in_jax(setting, feeds)
    from jax.experimental import checkify  # noqa: PLC0415 - JAX may be missing

    divide = jax.jit(checkify.checkify(jax.lax.div, errors=checkify.div_checks))

    def run() -> list[Any]:
        error, quotient = divide(*operands)
        error.throw()  # without this nobody would learn of an error
        return [quotient.block_until_ready()]

    return run


def _run_of(model: onnx.ModelProto, options: onnxruntime.SessionOptions, feeds: Feeds) -> Run:
    return partial(start(model, options).run, None, feeds)


def _in_jax(setting: Setting, feeds: Feeds) -> tuple[Any, list[Any]]:
    os.environ["NPROC"] = str(setting.threads)  # XLA reads it with the first array
    import jax  # noqa: PLC0415 - it may be missing

    configuration: Any = jax.config
    configuration.update("jax_platforms", "cpu")
    configuration.update("jax_enable_x64", True)  # else an int64 becomes an int32
    # Else a division is handed to another thread, whose waking is most of what is measured.
    configuration.update("jax_cpu_enable_async_dispatch", False)
    return jax, [jax.device_put(feeds[name]) for name in ("A", *setting.divisors)]


def _quotient(a: Array, b: Array) -> Array:
    """Checks nothing, and floors negative integer quotients."""
    # A double is as wide as an int64, and its bits would be taken for one.
    return np.asarray(a / b if a.dtype.kind == "f" else a // b)


# At import: one more operator in a domain after a session exists would end the process.
for _type in (PyOp.dt_float, PyOp.dt_int32, PyOp.dt_int64):
    onnx_op(op_type=f"{_PLAIN_DOMAIN}::Div", inputs=[_type, _type], outputs=[_type])(_quotient)
