"""The same division in JAX: compiled as it is, and with the checks of `checkify`.

Needs JAX, which no other file does. The operands lie on the device before anything is timed.
"""

import os
from typing import Any

import jax
from jax import lax
from jax.experimental import checkify

from benchmarks.turns import Run
from benchmarks.workload import Feeds, Setting


def start_jit(setting: Setting, feeds: Feeds) -> Run:
    """Make the compiled division ready.

    Args:
        setting: A model of one node.
        feeds: Its inputs.
    """
    a, b = _operands(setting, feeds)
    divide = jax.jit(lax.div)
    return lambda: [divide(a, b).block_until_ready()]


def start_checkify(setting: Setting, feeds: Feeds) -> Run:
    """Make the compiled division ready with `div_checks`, which look for zero divisors alone.

    Args:
        setting: A model of one node.
        feeds: Its inputs.
    """
    a, b = _operands(setting, feeds)
    divide = jax.jit(checkify.checkify(lax.div, errors=checkify.div_checks))

    def run() -> list[jax.Array]:
        error, quotient = divide(a, b)
        # Without this nobody would learn of an error.
        error.throw()
        return [quotient.block_until_ready()]

    return run


def _operands(setting: Setting, feeds: Feeds) -> tuple[jax.Array, jax.Array]:
    if setting.threads > 0:
        # XLA reads it when it starts, with the first array.
        os.environ["NPROC"] = str(setting.threads)
    configuration: Any = jax.config
    configuration.update("jax_platforms", "cpu")
    configuration.update("jax_enable_x64", True)  # else an int64 becomes an int32
    # Else a division is handed to another thread, whose waking is most of what is measured.
    configuration.update("jax_cpu_enable_async_dispatch", False)
    (divisor,) = setting.divisors
    return jax.device_put(feeds["A"]), jax.device_put(feeds[divisor])
