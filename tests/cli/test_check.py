"""`sonnx-ort check` and `explain`: output and exit status; check and rewrite agree."""

from dataclasses import replace
from pathlib import Path

import onnx
import pytest

import sonnx_ort
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.reporting.explanation import explain, list_rules
from sonnx_ort.reporting.formats import ReportFormat
from sonnx_ort.reporting.html_report import html_report
from sonnx_ort.reporting.text_report import overview, text_report
from support.checks import MENDING, mendable
from support.command import command, output, refusal
from support.examined import check_with_outline
from support.graphs import binary_model


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Path]:
    made = {
        "proved": binary_model("Div", "float", [3], [3], c_shape=[3]),
        "runtime": binary_model("Div", "float", ["n"], ["m"], c_shape=["n"]),
        "violated": binary_model("Div", "float", [3], [1], c_shape=[3]),
    }
    for name, proto in made.items():
        onnx.save(proto, tmp_path / f"{name}.onnx")
    return {name: tmp_path / f"{name}.onnx" for name in made}


@pytest.mark.parametrize(("name", "options", "status"), [
    ("proved", [], 0),
    ("proved", ["--fail-on", "runtime"], 0),
    ("runtime", [], 0),
    ("runtime", ["--fail-on", "runtime"], 1),
    ("violated", [], 1),
    ("violated", ["--broadcast", "explicit"], 0),
    ("violated", ["--edition", "preliminary"], 1),
    ("violated", ["--format", "json"], 1),
    ("violated", ["--fail-on", "violated"], 1),
    ("violated", ["--broadcast", "explicit", "--fail-on", "runtime"], 0),
    ("runtime", ["--broadcast", "explicit", "--fail-on", "runtime"], 1),
    ("runtime", ["--fail-on", "runtime", "--format", "json"], 1),
    ("violated", ["--format", "html"], 1),
    ("proved", ["--format", "html"], 0),
    ("violated", ["--select", "Div.float.R1"], 1),
    ("violated", ["--select", "Div.float.R2,Sub"], 0),
    ("violated", ["--ignore", "Div"], 0),
    ("violated", ["--select", "Div", "--ignore", "Div.float.R1"], 0),
    ("runtime", ["--fail-on", "runtime", "--ignore", "Div.float.R1"], 0),
])  # fmt: skip
def test_exit_status(models: dict[str, Path], name: str, options: list[str], status: int) -> None:
    done = command("check", "--operators", "default", models[name], *options)
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize("name", ["proved", "runtime", "violated"])
def test_json_on_standard_output_is_that_of_the_report(models: dict[str, Path], name: str) -> None:
    done = command("check", models[name], "--format", "json", "--edition", "preliminary")
    report = sonnx_ort.check(models[name], edition="preliminary")
    expected = report.in_command.to_json()
    assert (done.stdout, done.stderr) == (f"{expected}\n", "")


@pytest.mark.parametrize("name", ["proved", "runtime", "violated"])
def test_html_on_standard_output_is_that_of_the_report(models: dict[str, Path], name: str) -> None:
    options = ("--operators", "default", "--edition", "preliminary")
    done = command("check", models[name], "--format", "html", *options)
    report, graph = check_with_outline(models[name], edition="preliminary")
    expected = html_report(report.in_command, graph, str(models[name]))
    assert (done.stdout, done.stderr) == (f"{expected}\n", "")


def test_annotated_model_is_written_whatever_is_found(
    models: dict[str, Path], tmp_path: Path
) -> None:
    for name, status in (("violated", 1), ("proved", 0)):
        target = tmp_path / f"{name}.annotated.onnx"
        done = command("check", models[name], "--quiet", "--annotate", target)
        assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
        entries = onnx.load(target).graph.node[0].metadata_props
        assert [entry.key for entry in entries][:2] == ["sonnx.standing", "sonnx.state"]


REFUSED = {
    "proved.onnx violated.onnx --format html": "--format html is for one model, and 2 are given; "
    "write a page for each, or choose another format",
    "proved.onnx violated.onnx --annotate new.onnx": "--annotate needs exactly one model, given as "
    "a file",
    "violated.onnx --waivers none.toml": "there is no file 'none.toml'",
    "proved.onnx -o .": "'.' cannot be written: it is a folder",
    "proved.onnx -o none/report": "'none/report' cannot be written: there is no folder 'none'",
    "none.onnx": "there is no file 'none.onnx'",
    "text.onnx": "'text.onnx' is text; give a model in the binary form of ONNX, or end the name of "
    "its text with .onnxtxt, .textproto or .json",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_cannot_be_done_is_told(
    models: dict[str, Path], monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(models["proved"].parent)
    Path("text.onnx").write_bytes(b"hello world")
    said = refusal("check", "--operators", "default", *line.split())
    assert said == f"sonnx-ort: {REFUSED[line]}\n"
    assert {path.stem for path in Path().iterdir()} == {*models, "text"}


@pytest.mark.parametrize("option", ["--record", "--annotate"])
def test_unusable_model_of_a_folder_is_not_written_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("there/empty.onnx").touch()
    said = refusal("check", "there", option, "new").splitlines()[-1]
    assert said == f"sonnx-ort: {option} needs exactly one model, given as a file"


@pytest.mark.parametrize("options", [[], ["--broadcast", "explicit"], ["--format", "text"]])
def test_text_is_an_overview_unless_all_of_it_is_asked_for(
    models: dict[str, Path], options: list[str]
) -> None:
    broadcast = "explicit" if "explicit" in options else "reject"
    report = sonnx_ort.check(models["violated"], operators="default", broadcast=broadcast)
    name = str(models["violated"])
    shown = command("check", "--operators", "default", name, *options)
    assert (shown.stdout, shown.stderr) == (f"{overview(report, name)}\n", "")
    whole = command("check", "--operators", "default", name, *options, "-v")
    assert (whole.stdout, whole.stderr) == (f"{text_report(report)}\n", "")


def test_statistics_take_the_place_of_the_report(models: dict[str, Path]) -> None:
    done = command("check", "--operators", "default", models["violated"].parent, "--statistics")
    assert (done.returncode, done.stderr) == (1, "")
    assert [line.split("  ")[0] for line in done.stdout.splitlines()] == [
        *("rule", "Div.float.R1", "Div.float.R2", "Div.float.RG1")
    ]


@pytest.mark.parametrize("jobs", [0, 2])
def test_models_that_are_checked_at_once_give_the_same(models: dict[str, Path], jobs: int) -> None:
    names = [*models.values(), models["proved"].parent / "none.onnx"]
    one_by_one = command("check", "--operators", "default", *names, "--format", "json")
    at_once = command("check", "--operators", "default", *names, "--format", "json", "--jobs", jobs)
    assert at_once.stdout == one_by_one.stdout
    assert (at_once.returncode, at_once.stderr) == (2, one_by_one.stderr)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--edition", "final"), ("--broadcast", "yes"), ("--format", "yaml"), ("--fail-on", "proved")],
)
def test_unknown_option(models: dict[str, Path], option: str, value: str) -> None:
    said = refusal("check", "--operators", "default", models["proved"], option, value)
    assert f"Invalid value for '{option}': '{value}' is not one of '" in said


@pytest.mark.parametrize("option", ["--select", "--ignore"])
@pytest.mark.parametrize(("names", "message"), [
    ("Broadcast.E9",
     "there is no rule 'Broadcast.E9'; choose from Broadcast.C1, Broadcast.E1, or their "),
    ("", "there is no rule ''; choose from Abs, Acos, Add, "),
    ("Div,Foo", "there is no rule 'Foo'; choose from Abs, Acos, Add, "),
    ("sofmax", "there is no rule 'sofmax' (did you mean 'Softmax'?); choose from Abs, "),
])  # fmt: skip
def test_unknown_rule(models: dict[str, Path], option: str, names: str, message: str) -> None:
    said = refusal("check", "--operators", "default", models["proved"], option, names)
    assert said.startswith(f"sonnx-ort: {message}")


@pytest.mark.parametrize(("until", "status"), [("9999-12-31", 0), ("2020-01-01", 1)])
def test_waiver_decides_the_exit_status(
    models: dict[str, Path], tmp_path: Path, until: str, status: int
) -> None:
    file = tmp_path / "waivers.toml"
    fields = 'rule = "Div.float.R1"\nnode = "the_node"\nreason = "because"\nwho = "us"\n'
    file.write_text(f"[[waiver]]\n{fields}until = {until}\n", encoding="utf-8")
    done = command("check", "--operators", "default", models["violated"], "--waivers", file)
    assert (done.returncode, done.stderr) == (status, "")
    assert f"waived by us until {until}: because" in done.stdout


def test_check_writes_nothing(models: dict[str, Path]) -> None:
    folder = models["violated"].parent
    before = {path: path.read_bytes() for path in folder.iterdir()}
    command("check", "--operators", "default", models["violated"])
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("report_format", list(ReportFormat))
def test_report_is_written_to_a_file(
    models: dict[str, Path], tmp_path: Path, report_format: str
) -> None:
    target = tmp_path / "report"
    options = ["check", "--operators", "default", models["violated"], "--format", report_format]
    shown = command(*options, "-o", "-")
    written = command(*options, "--output", target)
    said = f"{target}: written\n"
    assert (written.returncode, written.stdout, written.stderr) == (1, said, "")
    assert target.read_text(encoding="utf-8") == shown.stdout
    assert shown.stdout == command(*options).stdout


def test_report_of_an_unusable_model_overwrites_nothing(tmp_path: Path) -> None:
    target = tmp_path / "report"
    target.write_text("older", encoding="utf-8")
    assert (
        command("check", "--operators", "default", tmp_path / "none.onnx", "-o", target).returncode
        == 2
    )
    assert target.read_text(encoding="utf-8") == "older"
    assert list(tmp_path.iterdir()) == [target]


def test_explain() -> None:
    done = command("explain", "div.int.c2")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{explain('Div.int.C2')}\n", "")


def test_explain_an_operator_tells_each_rule_once() -> None:
    shown = output("explain", "div")
    told = [line for line in shown.splitlines() if line.startswith("Div.")]
    rules = [rule for line in told for rule in line.partition(":")[0].split(", ")]
    assert sorted(rules) == sorted(rule for rule in RULES if rule.startswith("Div."))
    assert shown.count("Sparse tensors are not supported.") == 1


def test_explain_lists_all_rules() -> None:
    done = command("explain")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{list_rules()}\n", "")


def test_explain_an_unknown_rule() -> None:
    done = command("explain", "Div.R9")
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        (
            "sonnx-ort: there is no rule and no operator 'Div.R9' (did you mean 'Div.R5'?); "
            "`sonnx-ort explain` lists all rules, `sonnx-ort operators` all operators\n"
        ),
    )


@pytest.mark.parametrize("broadcast", ["reject", "explicit"])
@pytest.mark.parametrize("edition", ["typed", "preliminary"])
@pytest.mark.parametrize("name", sonnx_ort.models.names())
def test_check_and_rewrite_agree(name: str, edition: str, broadcast: str) -> None:
    path = sonnx_ort.models.path(name)
    report = sonnx_ort.check(path, operators="default", edition=edition, broadcast=broadcast)
    try:
        sonnx_ort.rewrite(path, edition=edition, broadcast=broadcast)
        rejected = None
    except sonnx_ort.ModelRejected as error:
        rejected = error.report
    assert (rejected is None) == report.ok
    if rejected is not None:
        # Only `check` finds out what can be fixed.
        unmarked = tuple(replace(o, mendable="", advice="") for o in report.obligations)
        assert rejected.to_json() == replace(report, obligations=unmarked).to_json()


@pytest.mark.parametrize("report_format", ["text", "json", "sarif", "html"])
def test_every_format_tells_what_can_be_mended(tmp_path: Path, report_format: str) -> None:
    onnx.save(mendable(), tmp_path / "model.onnx")
    done = command(
        *("check", tmp_path / "model.onnx", "--operators", "profile,-Graph"),
        *("--format", report_format),
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert ("[*] sonnx-ort conform fixes" if report_format == "text" else MENDING) in done.stdout


@pytest.mark.parametrize(
    "options",
    [[], ["--format", "html"], ["--cache", "kept"]],
    ids=str,
)
def test_what_can_be_mended_is_not_found_out_without_a_forecast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(mendable(), "model.onnx")
    line = ("check", "model.onnx", "--operators", "profile,-Graph", *options)
    told, plain = command(*line), command(*line, "--no-forecast")
    assert (told.returncode, plain.returncode) == (1, 1)
    found = ["conform fixes" in done.stdout for done in (told, plain)]
    assert found == [True, False]
