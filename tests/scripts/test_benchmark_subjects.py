"""What is compared, and what is left out."""

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.subject import BASELINES, SUBJECTS, choose_subjects
from benchmarks.workload import Setting

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "benchmark.py"

ALWAYS = ["onnxruntime", "plain", "reference", "jit", "checkify"]


def found(package):
    return package


def not_found(package):
    del package


@pytest.mark.parametrize(
    ("backends", "own"),
    [
        (["native"], ["native", "session"]),
        (["python"], ["python"]),
        (["python", "native"], ["native", "session", "python"]),
    ],
)
def test_only_the_chosen_backends_take_part(backends, own):
    chosen, notices = choose_subjects(backends, found)
    assert sorted(chosen) == sorted([*ALWAYS, *own])
    assert notices == []


def test_missing_jax_is_said_and_everything_else_measured():
    chosen, notices = choose_subjects(["native"], not_found)
    assert chosen == ["onnxruntime", "native", "session", "plain", "reference"]
    (notice,) = notices
    assert notice == (
        "The package jax is not installed, so jit and checkify / jit are left out; to measure "
        "them: pip install '.[benchmark]'"
    )


def test_baselines_are_onnxruntime_and_jit():
    assert sorted(BASELINES) == ["jit", "onnxruntime"]


def test_jax_runs_no_chain():
    chain = Setting("float32", 16, nodes=100)
    assert [name for name, subject in SUBJECTS.items() if not subject.runs(chain)] == [
        "jit",
        "checkify",
    ]


def call(*arguments):
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("measurement", "options"),
    [
        ("operators", {"--backend", "--elements", "--types", "--seconds", "--json", "--markdown"}),
        ("models", {"--backend", "--model", "--seconds", "--markdown", "--json"}),
        ("rewriting", {"--backend", "--nodes", "--seconds"}),
        ("plot", {"RESULTS.json", "PICTURE.svg"}),
    ],
)
def test_help_names_the_options(measurement, options):
    done = call(measurement, "--help")
    assert done.returncode == 0, done.stderr
    assert options <= set(done.stdout.replace("]", " ").replace("[", " ").split())


def test_smallest_measurement_prints_a_row_for_each_size_and_writes_the_figures(tmp_path):
    file = tmp_path / "figures.json"
    done = call(
        *("operators", "--seconds", "0.001", "--elements", "1", "3", "--types", "int32"),
        *("--backend", "native", "--json", file),
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split()[0] for line in done.stdout.splitlines() if line]
    assert lines.count("1") == lines.count("3") == 1
    assert lines.count("int32,") == 2
    assert file.is_file()
