"""Natively rewritten models where there is no sonnx_ort: bare Python, Node.js and C++.

Either program gets a folder, in which `runs.json` holds the runs: their names, the files of the
models, the element types of all inputs and outputs, and the inputs by their bits. It writes one
line of JSON for each run as soon as that has ended: its `name`, and `outputs`, or `error`, a
message, or `cannot_hold`, an element type.
"""

import base64
import functools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 - makes numpy know the name "bfloat16"
import numpy as np
import onnx
import pytest
from node_packages import FOLDER, what_is_missing
from onnx import helper
from restrictions import Violation, outcome

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.models import (
    Approximation,
    Case,
    Classification,
    Example,
    Outputs,
    Rejection,
    RunViolation,
    same_elements,
)
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family, smallest_value
from sonnx_ort.profile.options import Edition
from sonnx_ort.runtime.optimizers import DISABLED_OPTIMIZERS, UNWANTED_OPTIMIZERS, names_of
from sonnx_ort.suite.applied import special_values
from support.child import TESTS, run_program, run_python
from support.graphs import binary_model
from support.plain_runs.run import Array, CannotHold, Failure, Outcome, Run, failure_in
from support.values import all_pairs


def outcomes_in(program: Sequence[str | Path], runs: Sequence[Run]) -> dict[str, Outcome]:
    """Run everything in one process of another program.

    Args:
        program: The program and its arguments; the folder follows.
        runs: The runs; their names differ.

    Returns:
        How each ended, by its name.
    """
    executable, *arguments = program
    with tempfile.TemporaryDirectory() as folder:
        _write_runs(Path(folder), runs)
        ended = run_program([shutil.which(executable), *arguments, folder], timeout=300)
    outcomes: dict[str, Outcome] = dict.fromkeys((run.name for run in runs), ended)
    for line in ended.stdout.splitlines():
        entry = json.loads(line)
        outcomes[entry["name"]] = _outcome(entry)
    assert ended.exit_status == 0 or ended in outcomes.values(), ended
    return outcomes


def _write_runs(folder: Path, runs: Iterable[Run]) -> None:
    entries = []
    for number, run in enumerate(runs):
        file = f"{number}.onnx"
        model = run.make()
        (folder / file).write_bytes(model.SerializeToString())
        entries.append(
            {
                "name": run.name,
                "model": file,
                "optimized": run.optimized,
                "types": sorted(_element_types(model)),
                "inputs": {name: _encode(array) for name, array in run.feeds.items()},
            }
        )
    content = {"disabled_optimizers": ";".join(names_of(UNWANTED_OPTIMIZERS)), "runs": entries}
    (folder / "runs.json").write_text(json.dumps(content), encoding="utf-8")


def _element_types(model: onnx.ModelProto) -> set[str]:
    values = [*model.graph.input, *model.graph.output]
    types = (value.type.tensor_type.elem_type for value in values)
    return {helper.tensor_dtype_to_np_dtype(element_type).name for element_type in types}


def _outcome(entry: Mapping[str, Any]) -> Outcome:
    match entry:
        case {"outputs": outputs}:
            return {name: _decode(tensor) for name, tensor in outputs.items()}
        case {"error": str() as message}:
            return message
        case _:
            return CannotHold(entry["cannot_hold"])


def _encode(array: Array) -> dict[str, Any]:
    bits = base64.b64encode(np.asarray(array, order="C").tobytes()).decode("ascii")
    return {"type": array.dtype.name, "shape": list(array.shape), "bits": bits}


def _decode(tensor: Mapping[str, Any]) -> Array:
    elements = np.frombuffer(base64.b64decode(tensor["bits"]), tensor["type"])
    return elements.reshape(tensor["shape"])


_NODE = "the_node"


def operator_runs() -> Iterator[Run]:
    """Both operators, in both editions, in all types: special values, and each violation."""
    for operator in ("Div", "Sub"):
        for element_type in NUMERIC_TYPES:
            for edition in Edition:
                for kind, (a, b) in _operands(operator, element_type).items():
                    yield Run(
                        f"{operator} {element_type} {edition}, {kind}",
                        partial(_enforced_node, operator, element_type, edition),
                        {"A": a, "B": b},
                        _expected_of_node(operator, a, b, element_type, edition),
                    )


def _operands(operator: str, element_type: ElementType) -> dict[str, tuple[Array, Array]]:
    a, b = all_pairs(special_values(element_type))
    chosen = {"of unequal shape": (a[:3], b[:1])}
    if operator == "Sub" or element_type.family is Family.FLOAT:
        return chosen | {"special values": (a, b)}
    overflows = np.zeros(a.shape, bool)
    if element_type.dtype.kind == "i":
        overflows = (a == smallest_value(element_type)) & (b == -1)
        chosen["smallest by -1"] = (a[overflows], b[overflows])
    defined = (b != 0) & ~overflows
    return chosen | {"special values": (a[defined], b[defined]), "by zero": (a[-3:], b[-3:] * 0)}


@cache
def _enforced_node(operator: str, element_type: ElementType, edition: Edition) -> onnx.ModelProto:
    model = binary_model(operator, element_type, [None], [None], node=_NODE)
    return sonnx_ort.rewrite(model, edition=edition, backend="native")


def _expected_of_node(
    operator: str, a: Array, b: Array, element_type: ElementType, edition: Edition
) -> dict[str, Array] | Failure:
    found = outcome(operator, (a, b), element_type, edition)
    if isinstance(found, Violation):
        return Failure(operator, _NODE, found.rule)
    return {"C": found}


def bundled_runs() -> list[Run]:
    """One run for each case of the manifest that is not rejected before it runs."""
    return [
        Run(_name(example, case), partial(_enforced, example, case), case.inputs, _expected(case))
        for example in models.examples()
        for case in (case.with_runtime(None) for case in example.cases)
        if not isinstance(case.expected, Rejection)
    ]


def network_runs() -> list[tuple[Run, Run, Classification | Approximation]]:
    """Each network: the model as it is and rewritten, both not optimized, and what is expected."""
    return [
        (
            Run(f"{name}, as it is", partial(models.load, example.name), case.inputs, {}, False),
            Run(f"{name}, rewritten", partial(_enforced, example, case), case.inputs, {}, False),
            case.expected,
        )
        for example in models.examples()
        for case in example.cases
        for name in [_name(example, case)]
        if isinstance(case.expected, Classification | Approximation)
    ]


def _name(example: Example, case: Case) -> str:
    return f"{example.name}, {case.name}"


def _enforced(example: Example, case: Case) -> onnx.ModelProto:
    return sonnx_ort.rewrite(
        models.load(example.name),
        edition=case.edition,
        broadcast=case.broadcast,
        operators=case.operators,
        backend="native",
    )


def _expected(case: Case) -> Mapping[str, Any] | Failure:
    match case.expected:
        case Outputs(values):
            return values
        case RunViolation() as violation:
            return Failure(violation.operator, violation.node, violation.rule)
        case _:
            return {}


PYTHON = [sys.executable, "-I", TESTS / "plain_python" / "run_models.py"]
NODE = ["node", TESTS / "node" / "run_models.mjs"]

BUNDLED = {run.name: run for run in bundled_runs()}
OPERATORS = {run.name: run for run in operator_runs()}
NETWORKS = network_runs()


@functools.cache
def outcomes_of(*program):
    pairs = [run for original, rewritten, _ in NETWORKS for run in (original, rewritten)]
    return outcomes_in(program, [*BUNDLED.values(), *OPERATORS.values(), *pairs])


@pytest.fixture(scope="module", params=[PYTHON, NODE], ids=["python", "node"])
def outcomes(request):
    if request.param is NODE and (reason := what_is_missing()):
        pytest.skip(reason)
    return outcomes_of(*request.param)


def assert_as_expected(run, outcome):
    if isinstance(run.expected, Failure):
        assert isinstance(outcome, str), f"not refused: {outcome}"
        assert failure_in(outcome) == run.expected
        return
    assert isinstance(outcome, dict), outcome
    for name, expected in run.expected.items():
        assert same_elements(expected, outcome[name]), (expected, outcome[name])


@pytest.mark.parametrize("package", ["sonnx_ort", "onnxruntime_extensions"])
def test_bare_python_has_none_of_the_packages(package):
    done = run_python(
        f"""
        import runpy
        runpy.run_path({str(PYTHON[-1])!r})
        import {package}
        """,
        fresh=True,
    )
    assert done.exit_status == 1, done
    assert done.stderr.endswith(f"ModuleNotFoundError: {package} is not here\n")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_model_ends_as_the_manifest_says(outcomes, name):
    assert_as_expected(BUNDLED[name], outcomes[name])


@pytest.mark.parametrize("name", OPERATORS)
def test_single_node_ends_as_the_oracle_says(outcomes, name):
    if outcomes[name] == CannotHold("bfloat16"):
        pytest.skip("the language has no tensors of bfloat16")
    assert_as_expected(OPERATORS[name], outcomes[name])


def test_everything_is_run_except_bfloat16_in_javascript(outcomes):
    left_out = {name for name, outcome in outcomes.items() if isinstance(outcome, CannotHold)}
    in_javascript = outcomes is not outcomes_of(*PYTHON)
    assert left_out == {name for name in OPERATORS if in_javascript and "bfloat16" in name}


@pytest.mark.parametrize(
    ("original", "rewritten", "expected"),
    [pytest.param(*network, id=network[0].name) for network in NETWORKS],
)
def test_network_gives_the_same_bits_before_and_after(outcomes, original, rewritten, expected):
    before, after = outcomes[original.name], outcomes[rewritten.name]
    assert before.keys() == after.keys()
    for name in before:
        assert same_elements(before[name], after[name])
    if isinstance(expected, Classification):
        assert expected.count(after[expected.output]) == expected.correct
    else:
        [name] = after
        assert expected.distance(name, after[name]) <= expected.tolerance


EXAMPLE = FOLDER / "example.mjs"
DOCUMENT = FOLDER.parents[1] / "docs" / "how-to" / "plain-runtime.md"


def test_example_divides_and_is_refused_a_zero_divisor(tmp_path):
    if reason := what_is_missing():
        pytest.skip(reason)
    model = binary_model("Div", "int32", ["n"], ["m"], node="normalize/div")
    enforced = sonnx_ort.rewrite(model, backend="native")
    (tmp_path / "enforced.onnx").write_bytes(enforced.SerializeToString())
    done = subprocess.run(
        [shutil.which("node"), EXAMPLE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    quotients, _, message = done.stdout.partition("\n")
    assert quotients == "Int32Array(2) [ 4, 3 ]"
    assert failure_in(message) == Failure("Div", "normalize/div", "Div.int.C1")


def test_example_switches_off_what_undoes_enforcement():
    listed = re.search(r"\[[^]]*\]", EXAMPLE.read_text(encoding="utf-8"))
    names = json.loads(listed[0].replace(",\n]", "\n]"))
    assert sorted(names) == sorted(names_of(UNWANTED_OPTIMIZERS))


def test_readme_shows_the_example():
    assert EXAMPLE.read_text(encoding="utf-8") in DOCUMENT.read_text(encoding="utf-8")


def test_readme_switches_the_same_off_in_cpp():
    joined = re.sub(r'"\s*"', "", DOCUMENT.read_text(encoding="utf-8"))
    [(key, value)] = re.findall(r'AddConfigEntry\(\s*"([\w.]+)",\s*"([\w;]+)"\)', joined)
    assert key == DISABLED_OPTIMIZERS
    assert sorted(value.split(";")) == sorted(names_of(UNWANTED_OPTIMIZERS))
