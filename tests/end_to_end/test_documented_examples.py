"""The examples of docs/how-to/plain-runtime.md in JavaScript and C++."""

import json
import re
import shutil
import subprocess

import pytest
from node_packages import FOLDER, what_is_missing

import sonnx_ort
from sonnx_ort.runtime.session_options import DISABLED_OPTIMIZERS, UNWANTED_OPTIMIZERS, names_of
from support.graphs import binary_model
from support.plain_runs.run import Failure, failure_in

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
