"""Settings from a file: found upwards from the model, below the command line, and never guessed."""

import json
import re
import tomllib
from pathlib import Path

import onnx
import pytest
from jsonschema import Draft7Validator

import sonnx_ort
from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.cli.settings import (
    _FOR_ALL_FILES,
    PER_FILE,
    CommandWithSettings,
    Settings,
    _readers,
    find_settings,
    read_settings,
)
from sonnx_ort.errors import SonnxError
from sonnx_ort.options import Backend
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.reporting.audit_report import AuditFormat
from sonnx_ort.reporting.checked_models import FailOn
from sonnx_ort.reporting.formats import ReportFormat
from support.command import command, refusal
from support.graphs import binary_model, parse

SETTINGS = """\
broadcast = "explicit"
operators = ["Div", "Add"]
fail-on = "runtime"

[[per-file]]
files = ["old/*.onnx", "legacy.onnx"]
edition = "preliminary"

[[per-file]]
files = ["old/b.onnx"]
edition = "typed"
select = "Div"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "old").mkdir()
    for name in ("a.onnx", "legacy.onnx", "old/a.onnx", "old/b.onnx"):
        onnx.save(binary_model("Div", "float", [3], [1], c_shape=[3]), tmp_path / name)
    (tmp_path / "sonnx-ort.toml").write_text(SETTINGS, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("name", "edition"), [
    ("a.onnx", None), ("legacy.onnx", "preliminary"), ("old/a.onnx", "preliminary"),
    ("old/b.onnx", "typed"),
])  # fmt: skip
def test_later_tables_for_files_win(folder: Path, name: str, edition: str | None) -> None:
    settings = find_settings([str(folder / name)])
    assert settings.path == folder / "sonnx-ort.toml"
    own = settings.of(str(folder / name))
    assert own.get("edition") == edition
    assert (own["broadcast"], own["operators"]) == ("explicit", "Div,Add")


@pytest.mark.parametrize(("pattern", "matched"), [
    ("*.onnx", {"a.onnx", "legacy.onnx", "old/a.onnx", "old/b.onnx"}),
    ("**/*.onnx", {"a.onnx", "legacy.onnx", "old/a.onnx", "old/b.onnx"}),
    ("**/a.onnx", {"a.onnx", "old/a.onnx"}),
    ("old/**/?.onnx", {"old/a.onnx", "old/b.onnx"}),
    ("**/old/**/[!b].onnx", {"old/a.onnx"}),
    ("a.onnx", {"a.onnx"}),
    ("?/a.onnx", set()),
    ("A.onnx", set()),
])  # fmt: skip
def test_pattern_matches_these_files(folder: Path, pattern: str, matched: set[str]) -> None:
    settings = Settings(folder / "sonnx-ort.toml", {}, (((pattern,), {"edition": "typed"}),))
    files = (path.relative_to(folder).as_posix() for path in folder.rglob("*.onnx"))
    assert {name for name in files if settings.of(str(folder / name))} == matched


def test_project_file_counts_if_it_has_the_table(folder: Path) -> None:
    project = folder / "old" / "pyproject.toml"
    model = str(folder / "old" / "a.onnx")
    for text in ('[project]\nname = "x"\n', "[tool.ruff]\n", 'tool = ["sonnx-ort"]\n'):
        project.write_text(text, encoding="utf-8")
        assert find_settings([model]).path == folder / "sonnx-ort.toml"
    project.write_text('[tool.sonnx-ort]\nedition = "preliminary"\n', encoding="utf-8")
    settings = find_settings([model])
    assert settings.path == project
    assert settings.of(model) == {"edition": "preliminary"}


def test_models_with_several_files_are_refused(folder: Path) -> None:
    (folder / "old" / "sonnx-ort.toml").write_text('edition = "typed"\n', encoding="utf-8")
    with pytest.raises(SonnxError) as caught:
        find_settings([str(folder / "a.onnx"), str(folder / "old" / "a.onnx")])
    assert str(caught.value) == (
        f"the models do not all have the same settings file (found: {folder}/sonnx-ort.toml and "
        f"{folder}/old/sonnx-ort.toml); check the models of each file separately"
    )


def test_models_of_which_one_has_no_file_are_refused(folder: Path) -> None:
    (folder / "sonnx-ort.toml").rename(folder / "old" / "sonnx-ort.toml")
    with pytest.raises(SonnxError) as caught:
        find_settings([str(folder / "a.onnx"), str(folder / "old" / "a.onnx")])
    assert str(caught.value) == (
        f"the models do not all have the same settings file (found: {folder}/old/sonnx-ort.toml); "
        "check the models of each file separately"
    )
    assert find_settings([str(folder / "a.onnx"), str(folder / "legacy.onnx")]).path is None


def test_files_lie_beside_the_settings_that_name_them(folder: Path) -> None:
    path = folder / "old" / "sonnx-ort.toml"
    path.write_text(
        'waivers = "w.toml"\n[[per-file]]\nfiles = "*"\ncontract = "../c.toml"\n', encoding="utf-8"
    )
    found = read_settings(path)
    assert found.values == {"waivers": folder / "old" / "w.toml"}
    assert found.files == [path, folder / "old" / "w.toml", folder / "old" / "../c.toml"]


WRONG = [
    ('brodcast = "explicit"',
     ("'brodcast' is not a setting (did you mean 'broadcast'?); choose from edition, broadcast, "
      "operators, backend, select, ignore, waivers, contract, fail-on")),
    ('edition = "final"', "edition='final' is unknown; choose 'typed' or 'preliminary'"),
    ("operators = 3", "operators=3 is not a list of names; write a string or a list of strings"),
    ('select = ["Div", 3]',
     "select=['Div', 3] is not a list of names; write a string or a list of strings"),
    ('[tool.sonnx-ort]\nedition = "typed"',
     ("'tool' is not a setting; choose from edition, broadcast, operators, backend, select, "
      "ignore, waivers, contract, fail-on")),
    ("waivers = 3", "waivers=3 is not a path; write the path of a file as a string"),
    ("per-file = 3", "'per-file' is not a list of tables; start each with [[per-file]]"),
    ('[[per-file]]\nedition = "typed"',
     "a table 'per-file' has no 'files'; add patterns such as 'old/*.onnx'"),
    ("[[per-file]]\nfiles = []",
     "a table 'per-file' has no 'files'; add patterns such as 'old/*.onnx'"),
    ('[[per-file]]\nfiles = "a.onnx"\nwaivers = "w.toml"',
     "'waivers' applies to all files; write it above 'per-file'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_wrong_settings_are_errors_that_name_the_file(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "sonnx-ort.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SonnxError) as caught:
        read_settings(path)
    assert str(caught.value) == f"settings in '{path}': {message}"


def test_project_file_whose_entry_is_no_table_is_told(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool]\nsonnx-ort = 3\n", encoding="utf-8")
    with pytest.raises(SonnxError) as caught:
        read_settings(path)
    assert str(caught.value) == f"settings in '{path}': 'sonnx-ort' is not a table"


def test_file_that_is_no_toml_is_an_error_of_the_command(folder: Path) -> None:
    path = folder / "sonnx-ort.toml"
    path.write_text("broadcast =", encoding="utf-8")
    said = refusal("check", folder / "a.onnx")
    assert said.startswith(f"sonnx-ort: settings in '{path}' cannot be read: ")


def test_settings_are_the_options_of_a_command_unless_it_gives_them(folder: Path) -> None:
    model = folder / "a.onnx"
    assert command("check", model).returncode == 0
    assert command("check", model, "--broadcast", "reject").returncode == 1
    assert command("rewrite", model, "-o", folder / "enforced.onnx").returncode == 0


@pytest.mark.parametrize(("setting", "options", "told"), [
    ("", (), ""),
    ('operators = "Div"', (), ""),
    ('operators = "Mul"', (), "sonnx-ort: the model is already rewritten, without Mul; "),
    ('operators = "Mul"', ("--operators", "Div"), ""),
    ("", ("--operators", "Mul"), "sonnx-ort: the model is already rewritten, without Mul; "),
])  # fmt: skip
def test_enforced_model_keeps_its_operators_unless_others_are_named(
    folder: Path, setting: str, options: tuple[str, ...], told: str
) -> None:
    model = parse("(float[2] x, float[2] y) => (float[2] z) { a = Div(x, y) z = Mul(a, y) }")
    made = sonnx_ort.rewrite(model, operators="Div", backend="native")
    onnx.save(made, folder / "e.onnx")
    (folder / "sonnx-ort.toml").write_text(setting, encoding="utf-8")
    native = ("--backend", "native", *options)
    done = command("rewrite", folder / "e.onnx", "-o", folder / "f.onnx", *native)
    assert done.returncode == (2 if told else 0)
    assert done.stderr.startswith(told) if told else done.stderr == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_settings_are_shown_by_the_commands_that_read_them(name: str) -> None:
    loaded = load(name)
    shows = any(each.name == "show_settings" for each in loaded.params)
    assert shows is isinstance(loaded, CommandWithSettings)


def test_each_model_of_a_folder_has_its_own_settings(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "sonnx-ort.toml").write_text(
        '[[per-file]]\nfiles = "old/*"\nbroadcast = "explicit"\n', encoding="utf-8"
    )
    done = command("check", ".")
    verdicts = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()[:4]}
    assert verdicts == {
        "a.onnx": "violated", "legacy.onnx": "violated", "old/a.onnx": "kept", "old/b.onnx": "kept",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "verdict"),
    [
        ('ignore = "Div"', "left"),
        ('select = "Div.float.R2"', "left"),
        ('operators = "Add"', "kept"),
    ],
)
def test_each_setting_for_some_files_is_theirs_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, setting: str, verdict: str
) -> None:
    monkeypatch.chdir(folder)
    text = f'operators = "Div"\n[[per-file]]\nfiles = "old/*"\n{setting}\n'
    (folder / "sonnx-ort.toml").write_text(text, encoding="utf-8")
    lines = command("check", "a.onnx", "old/a.onnx").stdout.splitlines()[:2]
    assert [line.split()[:2] for line in lines] == [["a.onnx", "violated"], ["old/a.onnx", verdict]]


@pytest.mark.parametrize("others", [["legacy.onnx"], ["old"]])
def test_settings_of_the_first_model_are_not_those_of_the_others(
    folder: Path, others: list[str]
) -> None:
    (folder / "sonnx-ort.toml").write_text(
        '[[per-file]]\nfiles = ["a.onnx", "old"]\nbroadcast = "explicit"\n', encoding="utf-8"
    )
    names = ["a.onnx", *others]
    done = command("check", *(folder / name for name in names))
    lines = [line for line in done.stdout.splitlines() if line.startswith(str(folder))]
    verdicts = [line.split()[1] for line in lines]
    assert (verdicts[0], set(verdicts[1:])) == ("kept", {"violated"})
    assert command("check", folder / "old").returncode == 1


def test_settings_are_shown_with_their_origin(folder: Path) -> None:
    done = command("check", folder / "old" / "b.onnx", "--show-settings", "--backend", "native")
    path = folder / "sonnx-ort.toml"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"edition    typed  ('{path}')", f"broadcast  explicit  ('{path}')",
        f"operators  Div,Add  ('{path}')", "backend    native  (command line)",
        f"select     Div  ('{path}')", "ignore     -  (default)", "waivers    -  (default)",
        "contract   -  (default)", f"fail-on    runtime  ('{path}')",
    ]  # fmt: skip


def test_reports_and_the_version_name_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "sonnx-ort.toml"
    monkeypatch.chdir(folder)
    assert "  settings from sonnx-ort.toml\n" in command("check", "a.onnx").stdout
    monkeypatch.chdir(folder / "old")
    assert command("--version").stdout.splitlines()[1] == f"settings: {path}"
    monkeypatch.chdir(folder)
    assert command("--version").stdout.splitlines()[1] == "settings: sonnx-ort.toml"


DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs"
SCHEMA = json.loads((DOCUMENTATION / "settings.schema.json").read_text(encoding="utf-8"))
PAGE = (DOCUMENTATION / "how-to/settings.md").read_text(encoding="utf-8")


def test_page_names_the_commands_that_read_the_file() -> None:
    reading = {name for name in COMMANDS if isinstance(load(name), CommandWithSettings)}
    (sentence,) = re.findall(r"^(.*)\bread the file, each", PAGE, re.MULTILINE)
    assert set(re.findall("`(.*?)`", sentence)) == reading


@pytest.mark.parametrize(
    "name", [each for each in ReportFormat if each is not ReportFormat.OVERLAY]
)
def test_each_format_of_a_report_names_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: ReportFormat
) -> None:
    monkeypatch.chdir(folder)
    assert "sonnx-ort.toml" in command("check", "a.onnx", "--format", name).stdout


@pytest.mark.parametrize("name", list(AuditFormat))
def test_each_format_of_an_audit_names_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: AuditFormat
) -> None:
    monkeypatch.chdir(folder)
    assert "sonnx-ort.toml" in command("audit", "a.onnx", "--format", name).stdout
    (folder / "sonnx-ort.toml").unlink()
    assert "sonnx-ort.toml" not in command("audit", "a.onnx", "--format", name).stdout


def test_schema_has_each_setting_and_its_values() -> None:
    properties = SCHEMA["properties"]
    assert properties.keys() == {*_readers(), PER_FILE}
    for_some = properties[PER_FILE]["items"]["properties"].keys()
    assert for_some == {*_readers(), "files"} - _FOR_ALL_FILES
    kinds = {"edition": Edition, "broadcast": Broadcasting, "backend": Backend, "fail-on": FailOn}
    defined = {name: SCHEMA["definitions"].get(name, properties[name]) for name in kinds}
    assert {name: schema["enum"] for name, schema in defined.items()} == {
        name: list(map(str, kind)) for name, kind in kinds.items()
    }


def test_schema_accepts_the_settings_of_the_page() -> None:
    text = PAGE.partition("```toml")[2].partition("\n")[2].partition("```")[0]
    Draft7Validator.check_schema(SCHEMA)
    Draft7Validator(SCHEMA).validate(tomllib.loads(text))


@pytest.mark.parametrize("text", [text for text, _ in WRONG])
def test_schema_rejects_what_the_command_rejects(text: str) -> None:
    assert not Draft7Validator(SCHEMA).is_valid(tomllib.loads(text))
