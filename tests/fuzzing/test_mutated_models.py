"""Mutated models end in a result or in a `SonnxError`, and never the process.

`scripts/fuzz.py` tries more of them, and `--only NUMBER` one of them.
"""

import json
import sys
from pathlib import Path

import onnx
import pytest
from fuzzing.attempt import as_runtime_takes_it, make
from fuzzing.handmade import handmade_models
from fuzzing.record import Record, makers
from fuzzing.workers import End, Ended

from sonnx_ort.loading.traversal import all_nodes
from support.child import SCRIPTS, run_program, run_python
from support.graphs import parse

FEW = 200
MANY = 2500


def fuzz(record: Path, models: int) -> dict:
    """Let the script try models, which forks a process that has started nothing."""
    command = [sys.executable, SCRIPTS / "fuzz.py", "--processes", "2", "--record", record]
    child = run_program([*command, "--models", str(models)], timeout=1200)
    assert child.exit_status == 0, child
    return json.loads(record.read_text("utf-8"))


def test_few_end_in_a_result_or_an_error_and_are_counted(tmp_path: Path) -> None:
    record = fuzz(tmp_path / "record.json", FEW)
    checks = {k: n for k, n in record["outcomes"].items() if k.startswith("check: ")}
    assert (record["models"], record["faults"]) == (FEW, [])
    assert sum(checks.values()) + len(record["runtimes_own"]) >= FEW
    assert set(checks) == {"check: InvalidModel", "check: kept", "check: violated"}


def test_record_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    record = Record.read(path)
    kept = Ended(0, End.RESULT, ("check: kept",))
    own = Ended(1, End.DEATH, stage="run, native", detail="SIGFPE")
    fault = Ended(2, End.FAULT, stage="check", detail="KeyError")
    record.add([fault, own, kept], own=[1])
    record.write(path)
    again = Record.read(path)
    assert again == record
    again.add([Ended(3, End.RESULT, ("check: kept",))], own=[])
    assert (again.models, again.outcomes) == (4, {"check: kept": 2})
    assert [told["number"] for told in again.faults] == [2]
    assert [told["number"] for told in again.runtimes_own] == [1]


def test_record_of_other_sources_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    other = Record({**makers(), "sources": "others"}, models=20)
    other.write(path)
    assert Record.read(path) == Record(makers())


@pytest.mark.thorough
def test_many_end_in_a_result_or_an_error(tmp_path: Path) -> None:
    record = fuzz(tmp_path / "record.json", MANY)
    assert record["faults"] == []
    outcomes = record["outcomes"]
    for backend in ("python", "native"):
        assert outcomes[f"session, {backend}: ran"] > MANY // 40
        assert outcomes[f"session, {backend}: ContractViolation"] > MANY // 100
    for refusal in ("InvalidModel", "violated"):
        assert outcomes[f"check: {refusal}"] > MANY // 20


def test_number_always_makes_the_same_model() -> None:
    assert [make(number) for number in range(50)] == [make(number) for number in range(50)]


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


def test_handmade_models_are_told_apart() -> None:
    contents = [model.SerializeToString() for model in handmade_models().values()]
    assert len(set(contents)) == len(contents)


ENDS = """
import os
from fuzzing.attempt import Fault
from fuzzing.workers import End, Ended, run_in_forks

def end(number, say):
    say("stage")
    match number:
        case 1:
            raise Fault("told")
        case 2:
            os.abort()
        case 3:
            while True:
                pass
        case 4:
            bytearray(1 << 40)
    return [f"{number}: ok"]

ended = {e.number: e for e in run_in_forks(end, range(7), 2, seconds=1)}
assert ended == {
    0: Ended(0, End.RESULT, ("0: ok",)),
    1: Ended(1, End.FAULT, stage="stage", detail="told"),
    2: Ended(2, End.DEATH, stage="stage", detail="SIGABRT"),
    3: Ended(3, End.HANG, stage="stage", detail="it works on and on"),
    4: Ended(4, End.FAULT, stage="stage", detail="MemoryError: "),
    5: Ended(5, End.RESULT, ("5: ok",)),
    6: Ended(6, End.RESULT, ("6: ok",)),
}, ended
"""


def test_each_end_is_told_of_the_number_that_it_belongs_to() -> None:
    child = run_python(ENDS)
    assert child.exit_status == 0, child
