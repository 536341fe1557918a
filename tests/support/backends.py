"""Marks that say with which backends tests run; by itself a test runs with the python backend."""

import pytest

from sonnx_ort.backends import Backend, is_installed

INSTALLED = tuple(filter(is_installed, Backend))
"""The backends that can run here."""

RUNS_PYTHON = Backend.PYTHON in INSTALLED
"""Whether the python backend can, which verifies proofs and completes violations."""

BACKENDS = pytest.mark.parametrize("backend", ["python", "native", "compiled"])
"""Gives a test the name of each backend in turn, where the test chooses by itself."""

with_guards = pytest.mark.parametrize("backend", ["python", "native"])
"""As `BACKENDS`, of those that enforce by guards alone."""

on_each_backend = pytest.mark.usefixtures("backend")
"""Runs with every backend; the default of what rewrites is each of them in turn."""

on_guarding = pytest.mark.parametrize("backend", ["python", "native"], indirect=True)
"""Of a test in a module that runs with every backend: runs with those that enforce by guards."""

on_python = pytest.mark.parametrize("backend", ["python"], indirect=True)
"""Of a test in a module that runs with every backend: runs with this one only."""

on_native = pytest.mark.parametrize("backend", ["native"], indirect=True)
"""Of a test in a module that runs with every backend: runs with this one only."""
