"""`sonnx-ort audit`: output, formats and exit status."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import onnx
import onnxruntime
import pytest

from sonnx_ort.cli import comparing
from sonnx_ort.reporting.audit_report import MEASURED
from support.command import command, output, refusal
from support.graphs import parse

F = np.float32
FEEDS = ("--input", "x=x.npy", "--input", "y=y.npy")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    model = parse(
        "(float[n] x, float[n] y) => (float[n] z) <float one = {1}> "
        "{ [invert] a = Div(one, x) [multiply] z = Mul(a, y) }"
    )
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", F([3, 41]))
    np.save(tmp_path / "y.npy", F([1, 41]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_exact_run_is_the_exit_status_0() -> None:
    shown = output("audit", "model.onnx", *FEEDS)
    assert shown == (
        "Exact: 2 nodes of 2 gave exact results.\n"
        "\n"
        "operator  exact  admitted  outside  not known  largest error\n"
        "Div           1         0        0          0  -\n"
        "Mul           1         0        0          0  -\n"
        "\n"
        "rules that the operands of this run break\n"
        "  Div.float.R1 at 1 node, such as Div 'invert': rank 0 is not rank 1\n"
        "\n"
        "audited: 4 of 4 elements (at most 100 a result, seed 0; --exhaustive takes all)\n"
        f"run: onnxruntime {onnxruntime.__version__}, level none, "
        "CPUExecutionProvider\n"
    )


def test_result_outside_is_the_exit_status_1() -> None:
    done = command("audit", "model.onnx", *FEEDS, "--level", "all")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(
        "Outside: 1 node of 2 gave results outside the admitted error.\n"
        "\n"
        "Mul 'multiply': outside\n"
        "  z[1] = 1; exact 0.99999994\n"
        "  error: 1 unit in the last place; none is admitted\n"
        "  operands: a = 0.024390243, y = 41\n"
        "  admitted error: exact: no other result is admitted\n"
        "  the optimizer joined the nodes of 'a' with this one; for the audit they were computed "
        "apart\n"
    )


def test_units_are_explained_and_set_against_the_admitted_ones() -> None:
    onnx.save(
        parse("(float[2, n] x, float[n, 2] y) => (float[2, 2] z) { z = MatMul(x, y) }"), "sum.onnx"
    )
    lines = command("audit", "sum.onnx", "--size", "n=50", "-v").stdout.splitlines()
    (error,) = (line for line in lines if line.startswith("  error: "))
    assert re.fullmatch(
        r"  error: [\d,]+ units? in the last place, (less than 1|\d+) % of the [\d,]+ admitted",
        error,
    )
    (row,) = (line for line in lines if line.startswith("MatMul  "))
    assert re.search(r"  [\d,]+ units?, [\d,]+ admitted$", row)
    told = "\n".join(lines[lines.index(row) + 1 :][:2])
    assert told == (
        "A unit is one in the last place: the step to the next number of the type. "
        "Where a sum nearly\n  cancels, many units are admitted."
    )


def test_error_that_was_measured_of_onnxruntime_is_told(folder: Path) -> None:
    model = parse("(float[n] x) => (float[n] z, float[n] r) { z = Log(x) r = Relu(x) }")
    onnx.save(model, "l.onnx")
    (folder / "values").mkdir()
    x = np.float32([2, 3])
    found = np.nextafter(np.log(x), np.float32(9))
    for name, array in {"x": x, "z": found, "r": x}.items():
        np.save(folder / "values" / f"{name}.npy", array)
    lines = command("audit", "l.onnx", "--values", "values").stdout.splitlines()
    assert lines[0] == (
        "Kept: 2 nodes of 2 gave exact or admitted results, 1 of them by a measured error."
    )
    assert next(line for line in lines if line.startswith("Log ")).endswith(
        "  1 unit, 3 admitted (measured)"
    )
    assert MEASURED in " ".join(" ".join(lines).split())
    text = command("audit", "l.onnx", "--values", "values", "--format", "json").stdout
    nodes = json.loads(text)["nodes"]
    assert [node["origin"] for node in nodes] == [["measured"], []]


def test_random_inputs_are_told_with_their_sizes() -> None:
    lines = command("audit", "model.onnx", "--seed", "3").stdout.splitlines()
    assert lines[-4:] == [
        f"run: onnxruntime {onnxruntime.__version__}, level none, CPUExecutionProvider",
        "input x: float32 (3,) (random, seed 3)",
        "input y: float32 (3,) (random, seed 3)",
        "open sizes: n = 3 (the model runs with these; --size and --input-shape set others)",
    ]
    document = json.loads(
        command("audit", "model.onnx", "--input-shape", "x=5", "--format", "json").stdout
    )
    assert document["random"]["y"] == {"dtype": "float32", "shape": [5]}
    assert (document["open_sizes"], document["random_inputs"]) == ({}, True)


CONTRACT = ("--contract", "envelope.toml")


@pytest.mark.parametrize("line", ["model.onnx --contract envelope.toml", "enforced.onnx"])
def test_random_inputs_keep_a_contract_that_is_given_or_that_the_model_carries(
    folder: Path, line: str
) -> None:
    (folder / "envelope.toml").write_text("[inputs.x]\nrange = [5, 6]\n[sizes]\nn = [4, 4]\n")
    backend = ("--backend", "native", "--operators", "Graph.finite")
    output("rewrite", "model.onnx", *CONTRACT, *backend, "-o", "enforced.onnx")
    saved = ("--save-values", "values", "--format", "json")
    document = json.loads(command("audit", *line.split(), *saved).stdout)
    x = np.load("values/x.npy")
    assert (x.shape, bool((x >= 5).all()), bool((x <= 6).all())) == ((4,), True, True)
    assert document["contract"] == [
        {"value": "x", "range": [5, 6]},
        {"size": "n", "range": [4, 4]},
    ]


@pytest.mark.parametrize("source", [(), ("--values", "values")], ids=["run", "files"])
def test_input_that_breaks_a_contract_is_the_exit_status_2(
    folder: Path, source: tuple[str, ...]
) -> None:
    command("audit", "model.onnx", *FEEDS, "--save-values", "values")
    (folder / "envelope.toml").write_text("[inputs.x]\nrange = [0, 40]\n")
    said = refusal("audit", "model.onnx", *FEEDS, *CONTRACT, *source)
    assert said.splitlines()[0] == (
        "sonnx-ort: the input 'x' breaks Contract.range: x is outside of 0 to 40: x[1] = 41.0"
    )


def test_contract_for_another_model_is_the_exit_status_2(folder: Path) -> None:
    (folder / "envelope.toml").write_text("[inputs.xs]\nrange = [0, 40]\n")
    said = refusal("audit", "model.onnx", *CONTRACT)
    wrong = "contract: the graph has no input or value 'xs' (did you mean 'x'?); the model's inputs"
    rest = "are x, y; inputs of subgraphs and values of functions cannot have a contract"
    assert said == f"sonnx-ort: {wrong} {rest}\n"


def test_nothing_is_printed_on_request() -> None:
    done = command("audit", "model.onnx", *FEEDS, "--level", "all", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_json_has_every_node() -> None:
    done = command("audit", "model.onnx", *FEEDS, "--level", "all", "--format", "json")
    document = json.loads(done.stdout)
    assert document["format"] == "sonnx_ort.audit/1"
    assert [(node["node"], node["verdict"]) for node in document["nodes"]] == [
        ("invert", "not known"),
        ("multiply", "outside"),
    ]
    assert document["nodes"][1]["worst"]["index"] == [1]
    assert sorted(document["inputs"]) == ["x", "y"]


def test_junit_has_a_case_for_each_node() -> None:
    done = command("audit", "model.onnx", *FEEDS, "--level", "all", "--format", "junit")
    suite = ET.fromstring(done.stdout)  # noqa: S314 - we wrote it
    outcomes = {case.attrib["name"]: [e.tag for e in case] for case in suite}
    assert outcomes == {"invert": ["skipped"], "multiply": ["failure"]}
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")


def test_page_leads_from_a_node_to_its_audit() -> None:
    done = command(
        "audit", "model.onnx", *FEEDS, "--level", "all", "--format", "html", "-o", "a.html"
    )
    assert (done.returncode, done.stdout) == (1, "a.html: written\n")
    page = Path("a.html").read_text(encoding="utf-8")
    assert "<title>Audit, outside: model.onnx</title>" in page
    key = 'data-key="[&quot;multiply&quot;]"'
    assert f"<tr {key} data-status" in page
    assert re.search(rf'<g class="vertex node violated" [^>]*{re.escape(key)}', page)
    assert "error: 1 unit in the last place; none is admitted" in page


def test_outputs_over_the_reals_are_shown() -> None:
    done = command("audit", "model.onnx", *FEEDS, "--enclose")
    lines = done.stdout.splitlines()
    (line,) = (each for each in lines if each.startswith("  z: "))
    assert line.startswith("  z: the exact results are known to ")
    assert "the run is at most" in line


def test_errors_of_values_are_bounded_by_documents_and_by_the_enclosure() -> None:
    done = command("audit", "model.onnx", *FEEDS, "--error", "x=0.5")
    assert done.returncode == 0
    _, _, after = done.stdout.partition("errors of values, ")
    assert after.splitlines()[:3] == [
        "if x is off by at most 0.5",
        "  a: at most 0.0667 (div_acc.md, corrected: finding S27); enclosed: at most 0.0667",
        "  z: at most 0.0667 (accuracy.md, examples 1 and 4); enclosed: at most 0.0667",
    ]
    exact = command("audit", "model.onnx", *FEEDS, "--error", "x=0").stdout
    assert "errors of values, if all inputs are exact\n" in exact


def test_json_has_the_bounds_of_errors() -> None:
    done = command("audit", "model.onnx", *FEEDS, "--error", "x=3", "--format", "json")
    document = json.loads(done.stdout)
    assert document["errors"] == {"x": 3}
    assert document["bounded"][0] == {
        "name": "a",
        "node": "Div 'invert'",
        "bound": None,
        "source": "",
        "reason": "an element is not finite, or its divisor may be zero",
        "enclosed": None,
        "exceeded": None,
    }
    plain = json.loads(command("audit", "model.onnx", *FEEDS, "--format", "json").stdout)
    assert (plain["errors"], plain["bounded"]) == (None, [])


def test_page_has_the_bounds_of_errors() -> None:
    command("audit", "model.onnx", *FEEDS, "--error", "x=0", "--format", "html", "-o", "a.html")
    page = Path("a.html").read_text(encoding="utf-8")
    assert "<h2>Errors of values, if all inputs are exact</h2>" in page
    assert "(div_acc.md, corrected: finding S27); enclosed: at most " in page


def test_values_are_saved_and_audited_again() -> None:
    assert command("audit", "model.onnx", *FEEDS, "--save-values", "values").returncode == 0
    assert sorted(path.name for path in Path("values").iterdir()) == [
        "a.npy",
        "x.npy",
        "y.npy",
        "z.npy",
    ]
    again = command("audit", "model.onnx", "--values", "values")
    assert again.returncode == 0
    assert again.stdout.endswith("run: the files in 'values'\n")


def test_record_has_the_audit_and_is_verified() -> None:
    output("audit", "model.onnx", *FEEDS, "--record", "record.json", "--quiet")
    evidence = json.loads(Path("record.json").read_text())["declarations"]["evidence"]
    (found,) = (each for each in evidence if each["bom-ref"] == "audit:1")
    assert found["description"].startswith(
        "Nodes of one run by what their results are: 2 exact, 0 admitted, 0 outside, 0 not known."
    )
    assert command("verify", "model.onnx", "record.json").stdout.endswith("no difference\n")


def test_there_is_no_record_of_a_file_that_was_changed_while_it_was_audited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    audited = comparing.audit_model

    def changing(*given: Any, **choices: Any) -> Any:
        found = audited(*given, **choices)
        model = onnx.load("model.onnx")
        model.graph.node[0].name = "other"
        onnx.save(model, "model.onnx")
        return found

    monkeypatch.setattr(comparing, "audit_model", changing)
    said = refusal("audit", "model.onnx", *FEEDS, "--record", "record.json", "--quiet")
    assert said == "sonnx-ort: 'model.onnx' was changed while it was audited; audit it again\n"
    assert not Path("record.json").exists()


@pytest.mark.parametrize("settings", ["", 'edition = "preliminary"\n'], ids=["none", "a file"])
def test_report_in_the_record_of_an_audit_is_that_of_the_record_of_a_check(settings: str) -> None:
    Path("envelope.toml").write_text("[inputs.y]\nrange = [1, 50]\n", encoding="utf-8")
    if settings:
        Path("sonnx-ort.toml").write_text(settings, encoding="utf-8")
    line = ("model.onnx", "--operators", "Div", "--broadcast", "explicit", *CONTRACT, "--quiet")
    reports = []
    for verb in ("check", "audit"):
        output(verb, *line, "--record", f"{verb}.json")
        evidence = json.loads(Path(f"{verb}.json").read_text("utf-8"))["declarations"]["evidence"]
        (data,) = next(each["data"] for each in evidence if each["bom-ref"] == "report:original")
        reports.append(json.loads(data["contents"]["attachment"]["content"]))
    of_check, of_audit = reports
    assert of_audit == of_check
    assert of_check["operators"] == ["Broadcast", "Div"]
    assert of_check["contract_file"]["name"] == "envelope.toml"


@pytest.mark.parametrize("names", [" CPUExecutionProvider", "CPUExecutionProvider "])
def test_names_of_providers_may_have_spaces_around_them(names: str) -> None:
    assert "level none, CPUExecutionProvider\n" in output(
        "audit", "model.onnx", *FEEDS, "--providers", names
    )


THREE = "\N{ARABIC-INDIC DIGIT THREE}"
UNUSABLE = {
    "--samples 0": "",
    "--input x=nowhere.npy": "sonnx-ort: there is no file 'nowhere.npy'\n",
    "--values nowhere": "sonnx-ort: there is no folder 'nowhere'\n",
    "-o model.onnx": "sonnx-ort: 'model.onnx' cannot be written: it would replace the input "
    "'model.onnx'",
    "--providers NoProvider": "sonnx-ort: ONNX Runtime has no execution provider 'NoProvider' "
    "here; choose from ",
    "--values . --size n=3": "sonnx-ort: sizes and input shapes are for random inputs; values has "
    "none\n",
    "--error x": "sonnx-ort: --error x: the form is NAME=E, such as x=0.001\n",
    "--error x=1 --error x=2": "sonnx-ort: --error x=2: 'x' is given twice\n",
    "--size n": "sonnx-ort: --size n: the form is NAME=N\n",
    "--size n=2,3": "sonnx-ort: --size n=2,3: the form is NAME=N\n",
    f"--size n={THREE}": f"sonnx-ort: --size n={THREE}: the form is NAME=N\n",
    f"--size n={'9' * 41}": f"sonnx-ort: --size n={'9' * 41}: the form is NAME=N\n",
    "--size n=2_0": "sonnx-ort: --size n=2_0: the form is NAME=N\n",
    "--size n=2 --size n=3": "sonnx-ort: --size n=3: 'n' is given twice\n",
    "--input-shape x=a": "sonnx-ort: --input-shape x=a: the form is NAME=N,N, such as "
    "x=1,3,48,320\n",
    "--input-shape x=2 --input-shape x=2": "sonnx-ort: --input-shape x=2: 'x' is given twice\n",
    "--input x=long.npy --input y=y.npy": "sonnx-ort: the model does not run: ONNX Runtime "
    "refuses: ",
}


@pytest.mark.parametrize("line", UNUSABLE)
def test_unusable_input_is_a_sentence(line: str) -> None:
    np.save("long.npy", F([1, 2, 3]))
    assert refusal("audit", "model.onnx", *line.split()).startswith(UNUSABLE[line])
