"""Mutated models end in a result or in a `SonnxError`, and never the process.

`scripts/campaigns.py models` tries more of them.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import onnx
import pytest
from fuzz import nothing, read_record
from fuzzing.attempt import as_runtime_takes_it
from records import Record, add

from sonnx_ort.backends import Backend
from sonnx_ort.loading.file_traversal import all_nodes
from support.child import SCRIPTS, run_program, run_python
from support.chosen_cases import trials
from support.graphs import parse

FEW = 80
MANY = 1000


def fuzz(path: Path, numbers: range) -> dict:
    """Let the campaign try models, which forks a process that has started nothing."""
    record = read_record(path)
    add(record, nothing() | {"models": numbers.start})
    record.write()
    command = [sys.executable, SCRIPTS / "campaigns.py", "models", "--processes", "2"]
    child = run_program([*command, "--record", path, "--count", str(numbers.stop)], timeout=1200)
    assert child.exit_status == 0, child
    return json.loads(path.read_text("utf-8"))


@pytest.mark.thorough
def test_few_end_in_a_result_or_an_error_and_are_counted(tmp_path: Path) -> None:
    record = fuzz(tmp_path / "record.json", range(FEW))
    checks = {k: n for k, n in record["outcomes"].items() if k.startswith("check: ")}
    assert (record["models"], record["faults"]) == (FEW, [])
    assert sum(checks.values()) + len(record["runtimes_own"]) >= FEW
    assert set(checks) == {"check: InvalidModel", "check: kept", "check: violated"}


def test_record_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    record = read_record(path)
    kept, fault = Counter({"check: kept": 1}), {"number": 0, "end": "fault"}
    add(record, nothing() | {"models": 2, "outcomes": kept, "faults": [fault]})
    record.write()
    again = read_record(path)
    assert again == record
    add(again, nothing() | {"models": 1, "outcomes": kept})
    assert (again["models"], again["outcomes"]) == (3, {"check: kept": 2})
    assert again["faults"] == [fault]


def test_record_of_other_sources_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    begun = read_record(path)
    others = {**begun["made_by"], "sources": "others"}
    Record(path, made_by=others, models=20).write()
    assert read_record(path) == begun


@pytest.mark.starts_first
@pytest.mark.thorough
@pytest.mark.weekly
def test_many_end_in_a_result_or_an_error(tmp_path: Path, part_of_trials: int) -> None:
    record = fuzz(tmp_path / "record.json", trials(part_of_trials, MANY))
    assert record["faults"] == []
    outcomes = record["outcomes"]
    for backend in Backend:
        assert outcomes[f"session, {backend}: ran"] > MANY // 40
        assert outcomes[f"session, {backend}: ContractViolation"] > MANY // 400
    for refusal in ("InvalidModel", "violated"):
        assert outcomes[f"check: {refusal}"] > MANY // 20


def test_onnx_runtime_alone_gets_operands_for_broadcasts() -> None:
    made = parse("""(bool p, float[n] x, float[m] y) => (float[k] z) {
        a, b = sonnx.Broadcast(x, y)
        z = If (p) <
            then_branch = then () => (float[k] t) { s, t = sonnx.Broadcast(a, b) },
            else_branch = else () => (float[k] t) { t = Add(a, b) }
        >
    }""")
    model = onnx.load_from_string(as_runtime_takes_it(made.SerializeToString()))
    operators = sorted(node.op_type for node in all_nodes(model))
    assert operators == ["Add", "Identity", "Identity", "Identity", "Identity", "If"]
    assert [(n.input, n.output) for n in model.graph.node[:2]] == [(["x"], ["a"]), (["y"], ["b"])]


def test_onnx_runtime_alone_gets_a_version_that_it_has_kernels_for() -> None:
    made = parse(
        "(float[2,3] x, float[3] y) => (float[2,3] z) {"
        " a = Concat<axis = 0>(x) z = Div<axis = 1, broadcast = 1>(a, y) }",
        opset=6,
    )
    model = onnx.load_from_string(as_runtime_takes_it(made.SerializeToString()))
    assert model.opset_import[0].version == 7
    assert [[each.name for each in node.attribute] for node in model.graph.node] == [["axis"], []]


ENDS = """
import os
from fuzzing.child import End, Ended, Fault, call_in_child

def fault():
    raise Fault("words")

def endless():
    while True:
        pass

def ended(call):
    def attempt(say):
        say("stage")
        call()
        return ["ok"]
    return call_in_child(attempt, seconds=1)

assert ended(str) == Ended(End.RESULT, ("ok",))
assert ended(fault) == Ended(End.FAULT, stage="stage", detail="words")
assert ended(os.abort) == Ended(End.DEATH, stage="stage", detail="SIGABRT")
assert ended(endless) == Ended(End.HANG, stage="stage", detail="it works on and on")
assert ended(lambda: bytearray(1 << 40)) == Ended(End.FAULT, stage="stage", detail="MemoryError: ")
"""


def test_each_end_of_a_child_is_told() -> None:
    child = run_python(ENDS)
    assert child.exit_status == 0, child


DEATH = """
import os
import fuzz

def attempt(made, say):
    say("check")
    if made.choices["edition"] == "preliminary":
        os.abort()
    return ["check: kept"]

fuzz.attempt = attempt
fuzz._FOUND = fuzz.Path(FOLDER)
batch = fuzz.try_batch(0, 50)
(fault,) = batch["faults"]
assert fault == {"number": 0, "end": "death", "stage": "check", "detail": "SIGABRT"}, fault
"""


@pytest.mark.thorough
def test_smallest_model_that_ends_the_process_is_written(tmp_path: Path) -> None:
    child = run_python(f"FOLDER = {str(tmp_path)!r}{DEATH}")
    assert child.exit_status == 0, child
    assert onnx.load(tmp_path / "0.onnx").graph.node
