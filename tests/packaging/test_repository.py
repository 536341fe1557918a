"""The files by which services work on the repository: each does what it says, with least rights."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from environment import captured
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from sonnx_ort.versions import VERSION
from support.chosen_cases import PARTS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))
USING = [*WORKFLOWS, ROOT / "action.yml"]
WRITING = {
    "codeql.yml": {"security-events"},
    "docs.yml": {"pages", "id-token"},
    "release.yml": {"id-token", "contents"},
    "scorecard.yml": {"security-events", "id-token"},
}
"""What jobs of a workflow may do beyond reading the sources."""

each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", USING, ids=lambda path: path.stem)
def test_actions_of_others_are_pinned_by_their_digest_and_say_their_version(path):
    used = re.findall(r"^ *(?:- )?uses: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert used
    pinned = re.compile(r"[\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [line for line in used if line != "./" and not pinned.fullmatch(line)] == []


def test_an_action_has_one_version_in_all_files():
    texts = [path.read_text(encoding="utf-8") for path in USING]
    used = {line for text in texts for line in re.findall(r"uses: ([^.\s].*)", text)}
    actions = ["/".join(line.partition("@")[0].split("/")[:2]) for line in used]
    versions = {
        (action, line.partition("@")[2]) for action, line in zip(actions, used, strict=True)
    }
    assert sorted(action for action, _ in versions) == sorted(set(actions))


@each_workflow
def test_workflow_may_read_the_sources_and_its_jobs_what_they_need(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    further = [job.get("permissions", {}) for job in workflow["jobs"].values()]
    writing = {right for rights in further for right, kind in rights.items() if kind == "write"}
    assert writing == WRITING.get(path.name, set())


@each_workflow
def test_sources_are_checked_out_without_a_password(path):
    steps = [step for job in read(path)["jobs"].values() for step in job["steps"]]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert [step for step in checkouts if step["with"]["persist-credentials"] is not False] == []


@each_workflow
def test_workflow_runs_scripts_that_are_there(path):
    named = re.findall(r"scripts/[\w/]+\.(?:py|sh)", path.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_all_parts_of_the_cases_run_each_week():
    workflow = read(ROOT / ".github/workflows/cases.yml")
    [cron] = workflow[True]["schedule"]  # YAML reads the word `on` as true
    assert cron["cron"].split()[2:4] == ["*", "*"]
    job = workflow["jobs"]["part"]
    assert job["strategy"]["matrix"]["part"] == [*range(1, PARTS + 1)]
    tests, models = (step for step in job["steps"] if "env" in step)
    assert tests["env"] == models["env"] == {"SONNX_ORT_PART": "${{ matrix.part }}"}
    assert "--thorough --cases 5 --junit-xml" in tests["run"]
    assert "--models --cases 3" in models["run"]
    assert workflow["jobs"]["results"]["needs"] == "part"


def test_action_compiles_nothing():
    installation = next(s for s in read(ROOT / "action.yml")["runs"]["steps"] if "env" in s)
    assert installation["env"]["SONNX_ORT_WITHOUT_KERNELS"] == "1"


def test_updates_are_looked_for_where_packages_are_named():
    updates = read(ROOT / ".github/dependabot.yml")["updates"]
    places = {update["package-ecosystem"]: update["directory"].strip("/") for update in updates}
    naming = {
        "pip": "pyproject.toml",
        "github-actions": ".github/workflows",
        "npm": "package-lock.json",
    }
    assert places.keys() == naming.keys()
    assert all((ROOT / places[kind] / name).exists() for kind, name in naming.items())


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_ask_for_what_a_command_prints(path):
    labels = [part["attributes"].get("label", "") for part in read(path)["body"]]
    command = {"fault": "`sonnx-ort self-check`", "question": "`sonnx-ort --version`"}[path.stem]
    assert any(command in label for label in labels)


def test_conda_recipe_has_the_version_and_the_packages_of_the_project():
    recipe = read(ROOT / "conda/recipe.yaml")
    assert recipe["context"]["version"] == VERSION
    python, *packages = map(Requirement, recipe["requirements"]["run"])
    assert python.specifier == SpecifierSet(PROJECT["requires-python"])
    missing = "onnxruntime-extensions"
    assert missing in (ROOT / "conda/recipe.yaml").read_text(encoding="utf-8")
    required = map(Requirement, PROJECT["dependencies"])
    assert {(canonicalize_name(p.name), str(p.specifier)) for p in packages} == {
        (canonicalize_name(p.name), str(p.specifier)) for p in required if p.name != missing
    }


def test_entry_of_the_catalog_of_schemas_names_the_file_with_settings():
    entry = json.loads((ROOT / "docs/schemastore.json").read_text(encoding="utf-8"))
    schema = json.loads((ROOT / "docs/settings.schema.json").read_text(encoding="utf-8"))
    assert entry["fileMatch"] == ["sonnx-ort.toml"]
    assert Path(entry["url"]).name == Path(schema["$id"]).name


def test_page_for_language_models_leads_to_pages_of_the_site():
    text = (ROOT / "docs/llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\((.*?)\.html\)", text)
    assert len(links) == text.count("](")
    assert [link for link in links if not (ROOT / f"docs/{link}.md").is_file()] == []


def test_what_a_command_downloads_or_builds_is_not_committed():
    names = captured(["git", "ls-files", "-z"], ROOT, check=True).stdout.split("\0")
    files = [ROOT / name for name in names if (ROOT / name).is_file()]
    assert files
    assert [path.name for path in files if path.stat().st_size > 500_000] == []
