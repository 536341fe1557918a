"""A file whose metadata says that it is enforced, and which is not: `check` says so, exit 1."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort import Contract, ContractViolation, SizeContract, SonnxError, ValueContract
from sonnx_ort.analysis.obligation import Obligation
from support.command import command, output
from support.graphs import parse
from support.sessions import quiet

DIVISION = "(int32[n] x, int32[m] y) => (int32[k] z) { [ratio] z = Div(x, y) }"
SAID = (
    "the metadata says that the model is enforced, but another tool or an earlier version made "
    "it as it is; it may enforce nothing"
)
HINT = "rewrite the original model again; optimize a model before it is rewritten"
NARROW = Contract((ValueContract("x", (0, 9)),), sizes=(SizeContract("n", 1, 3),))


def enforced(**choices: object) -> onnx.ModelProto:
    return sonnx_ort.rewrite(parse(DIVISION), backend="native", **choices)


def without_guards(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model as an optimizer leaves it that removes a Reshape to the operand's own shape."""
    del model.graph.node[:], model.graph.value_info[:]
    model.graph.node.extend(parse(DIVISION).graph.node)
    return model


def without_a_name(model: onnx.ModelProto) -> onnx.ModelProto:
    next(node for node in model.graph.node if node.op_type == "Reshape").name = "reshape"
    return model


def without_records(model: onnx.ModelProto) -> onnx.ModelProto:
    for node in model.graph.node:
        del node.metadata_props[:]
    return model


def with_nonsense(model: onnx.ModelProto) -> onnx.ModelProto:
    (entry,) = (e for e in model.metadata_props if e.key == "sonnx_ort.enforced")
    entry.value = "{"
    return model


def with_an_older_format(model: onnx.ModelProto) -> onnx.ModelProto:
    """A format that runtimes read which undo guards."""
    model.ir_version = 9
    return model


CHANGES = [
    *(without_guards, without_a_name, without_records, with_nonsense),
    with_an_older_format,
]
OPERATORS = ["default", "profile", "Div", "Graph", "profile,-Graph"]
Change = Callable[[onnx.ModelProto], onnx.ModelProto]


def claims(model: onnx.ModelProto, **choices: object) -> list[Obligation]:
    report = sonnx_ort.check(model, backend="native", **choices)
    return [o for o in report.violations if o.rule.id == "Graph.false_claim"]


@pytest.mark.parametrize("operators", OPERATORS)
@pytest.mark.parametrize("change", CHANGES)
def test_claim_of_an_enforcement_that_is_not_there_is_a_violation(
    change: Change, operators: str
) -> None:
    assert claims(enforced(), operators=operators) == []
    (found,) = claims(change(enforced()), operators=operators)
    assert (found.place, found.evidence, found.hint) == ("model 'sonnx_ort.enforced'", SAID, HINT)
    assert not found.mendable


def test_command_says_so_and_exits_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(enforced(), "enforced.onnx")
    onnx.save(without_guards(enforced()), "optimized.onnx")
    kept = command("check", "enforced.onnx", "--operators", "Div", "--backend", "native")
    assert kept.returncode == 0
    done = command("check", "optimized.onnx", "--operators", "Div", "--backend", "native")
    assert done.returncode == 1
    assert "another tool or an earlier version made it as it is" in " ".join(done.stdout.split())


def test_record_of_an_enforced_model_says_why_another_file_is_not_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(DIVISION), "model.onnx")
    output("rewrite", "model.onnx", "-o", "e.onnx", "--backend", "native", "--record", "r.json")
    onnx.save(without_guards(onnx.load("e.onnx")), "optimized.onnx")
    done = command("verify", "optimized.onnx", "r.json")
    assert done.returncode == 1
    assert f"differs: the model: {SAID}; {HINT}" in done.stdout.splitlines()


def test_session_of_it_enforces_again() -> None:
    session = sonnx_ort.InferenceSession(without_guards(enforced()), quiet(), backend="native")
    with pytest.raises(ContractViolation):
        session.run(None, {"x": np.int32([1, 2]), "y": np.int32([1, 0])})


def test_contract_of_it_is_still_demanded() -> None:
    model = without_guards(enforced(contract=NARROW))
    session = sonnx_ort.InferenceSession(model, quiet(), backend="native")
    assert session.contract == NARROW
    with pytest.raises(ContractViolation):
        session.run(None, {"x": np.int32([1, 10]), "y": np.int32([1, 1])})


def test_contract_that_contradicts_the_one_of_it_is_refused() -> None:
    model = without_guards(enforced(contract=NARROW))
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.rewrite(model, contract=Contract((ValueContract("x", (10, 11)),)))
    assert str(caught.value) == (
        "contract: the model was rewritten with another contract, and changed since: no number of "
        "'x' is in [10, 11] and in [0, 9]; rewrite the original model with this one"
    )
