"""scripts/gpu.py says what it ran on, and claims nothing where it ran on nothing."""

import re

import gpu
import pytest
from gpu import BackendsDiffer, agreement, compare_backends, why_not

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"

FOUND = {
    "models": 3,
    "runs": 72,
    "refused": 30,
    "assigned": {f"Div int8 on {CPU}": 1, f"Div float on {CUDA}": 2},
}


@pytest.fixture
def nothing_differs(monkeypatch):
    monkeypatch.setattr(gpu, "why_not", lambda _: None)
    monkeypatch.setattr(gpu, "compare_backends", lambda *_: FOUND)


def test_nothing_is_claimed_where_the_provider_is_not_built_in(capsys):
    assert gpu.run(["--provider", "NoSuch"]) == 0
    assert re.fullmatch(
        r"Skipped: onnxruntime [\d.]+ has no NoSuchExecutionProvider here, only .*"
        r"CPUExecutionProvider\. Nothing was run on it, and nothing is known of it\.\n",
        capsys.readouterr().out,
    )


def test_provider_on_which_no_node_runs_does_not_count(monkeypatch):
    # Without a device ONNX Runtime offers the provider, and runs everything on the CPU.
    monkeypatch.setattr(gpu, "_operators_on", lambda *_: [])
    assert why_not(CPU).endswith(f" has {CPU}, but runs a Div elsewhere, as without a device")


def test_cpu_runs_everywhere():
    assert why_not(CPU) is None


@pytest.mark.usefixtures("nothing_differs")
def test_difference_is_shown_and_ends_with_status_1(monkeypatch, capsys):
    def differ(*_):
        raise BackendsDiffer("exit status -8")

    monkeypatch.setattr(gpu, "compare_backends", differ)
    assert gpu.run([]) == 1
    assert capsys.readouterr().out.endswith(
        "Div: the native backend differs from the reference on CUDAExecutionProvider\n"
        "exit status -8\n"
    )


def test_agreement_tells_what_ran_where():
    assert agreement("Div", FOUND).splitlines() == [
        (
            "Div: 3 models, 72 runs; 42 gave the same bits, 30 were refused with the same rule, "
            "operator and node"
        ),
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
    assert found["runs"] == 24 * found["models"] > 0
    assert found["assigned"]
    assert all(what.endswith(f" on {CPU}") for what in found["assigned"])


@pytest.mark.usefixtures("nothing_differs")
def test_ratios_are_printed_for_every_type_and_size(capsys):
    arguments = ["--provider", "CPU", "--elements", "1", "5", "--seconds", "0.01"]
    assert gpu.run(arguments) == 0
    rows = capsys.readouterr().out.partition("operators on the CPU\n")[2].splitlines()
    expected = [(t, n) for t in ("float32", "int32", "int64") for n in (1, 5)]
    for row, (element_type, size) in zip(rows, expected, strict=True):
        figures = r" +\d+\.\d+ / \d+\.\d+   .*\bDiv\b.*"
        assert re.fullmatch(rf"{element_type} +{size}{figures}", row), row
