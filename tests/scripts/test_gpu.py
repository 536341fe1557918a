"""scripts/gpu.py says what it ran on, and claims nothing where it ran on nothing."""

import re

import pytest
from providers import availability, command
from providers.agreement import Agreement, BackendsDiffer, compare_backends
from providers.availability import why_not

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"

FOUND = Agreement(
    models=3, runs=72, refused=30, assigned={f"Div int8 on {CPU}": 1, f"Div float on {CUDA}": 2}
)


@pytest.fixture
def nothing_differs(monkeypatch):
    monkeypatch.setattr(command, "why_not", lambda _: None)
    monkeypatch.setattr(command, "compare_backends", lambda *_: FOUND)


def test_provider_that_is_not_built_in_is_named_with_those_that_are():
    assert why_not(CUDA, [CPU, "AzureExecutionProvider"], "1.31.1") == (
        "onnxruntime 1.31.1 has no CUDAExecutionProvider here, only AzureExecutionProvider, "
        "CPUExecutionProvider"
    )


def test_provider_on_which_no_node_runs_does_not_count(monkeypatch):
    # Without a device ONNX Runtime offers the provider, and runs everything on the CPU.
    monkeypatch.setattr(availability, "providers_of", lambda *_: {CPU})
    monkeypatch.setattr(
        availability.onnxruntime, "InferenceSession", lambda *_, **__: SessionOnCpu()
    )
    assert why_not(CUDA, [CPU, CUDA], "1.31.1") == (
        "onnxruntime 1.31.1 has CUDAExecutionProvider, but runs a Div elsewhere, "
        "as without a device"
    )


class SessionOnCpu:
    def run(self, names, feeds):
        del names, feeds


def test_cpu_runs_everywhere():
    assert why_not(CPU) is None


def test_nothing_is_claimed_where_nothing_was_run(monkeypatch, capsys):
    monkeypatch.setattr(command, "why_not", lambda provider: f"there is no {provider}")
    assert command.run([]) == 0
    assert capsys.readouterr().out == (
        "Skipped: there is no CUDAExecutionProvider. "
        "Nothing was run on it, and nothing is known of it.\n"
    )


@pytest.mark.usefixtures("nothing_differs")
def test_difference_is_shown_and_ends_with_status_1(monkeypatch, capsys):
    def differ(*_):
        raise BackendsDiffer("exit status -8")

    monkeypatch.setattr(command, "compare_backends", differ)
    assert command.run([]) == 1
    assert capsys.readouterr().out.endswith(
        "Div: the native backend differs from the reference on CUDAExecutionProvider\n"
        "exit status -8\n"
    )


def test_agreement_tells_what_ran_where():
    first, *rest = FOUND.lines("Div")
    assert first == (
        "Div: 3 models, 72 runs; 42 gave the same bits, 30 were refused with the same rule, "
        "operator and node"
    )
    assert rest == [
        "    2 Div float on CUDAExecutionProvider",
        "    1 Div int8 on CPUExecutionProvider",
    ]


def test_process_that_fails_is_a_difference():
    with pytest.raises(
        BackendsDiffer, match=r"(?s)^exit status 1\n.*NoSuchProvider is not to be had"
    ):
        compare_backends("NoSuchProvider", "Div", 0, 1)


def test_backends_agree_on_the_cpu():
    found = compare_backends(CPU, "Div", 1, 4)
    assert found.runs == 24 * found.models > 0
    assert found.assigned
    assert all(what.endswith(f" on {CPU}") for what in found.assigned)


@pytest.mark.usefixtures("nothing_differs")
def test_ratios_are_printed_for_every_type_and_size(capsys):
    arguments = ["--provider", "CPU", "--elements", "1", "5", "--seconds", "0.01"]
    assert command.run(arguments) == 0
    rows = capsys.readouterr().out.partition("operators on the CPU\n")[2].splitlines()
    figures = r" +\d+\.\d+ / \d+\.\d+   .*\bDiv\b.*"
    types = ("float32", "int32", "int64")
    for row, (element_type, size) in zip(
        rows, [(t, n) for t in types for n in (1, 5)], strict=True
    ):
        assert re.fullmatch(rf"{element_type} +{size}{figures}", row), row
