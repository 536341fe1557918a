"""Natively rewritten models where there is no sonnx_ort: bare Python, Node.js and C++."""

import functools
import json
import re
import shutil
import subprocess
from functools import partial

import pytest
from node_packages import FOLDER, what_is_missing

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.models import Approximation, Classification, same_elements
from sonnx_ort.ort.disabled_optimizers import UNWANTED_OPTIMIZERS, names_of
from sonnx_ort.ort.optimizers import DISABLED_OPTIMIZERS
from support.child import run_python
from support.graphs import binary_model
from support.plain_runs.program import NODE, PYTHON, outcomes_in
from support.plain_runs.run import CannotHold, Failure, Run, failure_in
from support.plain_runs.runs import BUNDLED, OPERATORS, assert_as_expected, enforced, name_of


def network_runs() -> list[tuple[Run, Run, Classification | Approximation]]:
    """Each network: the model as it is and rewritten, both not optimized, and what is expected."""
    return [
        (
            Run(f"{name}, as it is", partial(models.load, example.name), case.inputs, {}, False),
            Run(f"{name}, rewritten", partial(enforced, example, case), case.inputs, {}, False),
            case.expected,
        )
        for example in models.examples()
        for case in example.cases
        for name in [name_of(example, case)]
        if isinstance(case.expected, Classification | Approximation)
    ]


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
