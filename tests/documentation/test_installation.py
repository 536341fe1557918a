"""What texts tell a reader, or a workflow, to install.

Nobody here owns the name `sonnx_ort` in a registry. Whoever registers it would run code wherever a
text installs it by name, so texts install a folder or a wheel.
"""

import re
import tomllib

import pytest

from support.package_copy import REPOSITORY

_FOLDERS = (".ci", ".github", "conda", "docs", "examples", "models", "scripts", "sonnx_ort")
_SUFFIXES = {".bash", ".json", ".md", ".mjs", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml"}

BY_NAME = re.compile(
    r"\b(?:pip3?|pipx|uv|uvx|conda|mamba|poetry|pdm)\s[^\n`]*?"
    r"(?<![\w./-])sonnx[-_]ort(?![\w./-])(?!\.)"
    r"|^\s*-?\s*['\"]?sonnx[-_]ort\s*(?:\[[\w,]*\])?\s*[=<>~!]=",
    re.MULTILINE,
)
"""A line that installs the name itself: not a path to it, nor the file of a wheel."""

INSTALLS_THE_NAME = [
    "pip install sonnx_ort",
    "pip install --upgrade 'sonnx-ort[oracle]'",
    "uv add sonnx_ort",
    "pipx run sonnx-ort check",
    "conda install sonnx_ort",
    "sonnx_ort==0.1.0",
    "  - sonnx-ort>=0.1",
]
INSTALLS_A_FILE = [
    "pip install .",
    "pip install wheels/sonnx_ort-0.1.0-py3-none-any.whl",
    "pip install ./sonnx_ort",
    "pip install '.[oracle]'",
]


@pytest.mark.parametrize("line", INSTALLS_THE_NAME)
def test_line_that_installs_the_name_is_found(line: str) -> None:
    assert BY_NAME.search(line)


@pytest.mark.parametrize("line", INSTALLS_A_FILE)
def test_line_that_installs_a_file_is_not_meant(line: str) -> None:
    assert not BY_NAME.search(line)


def test_no_text_installs_the_name() -> None:
    files = [file for folder in _FOLDERS for file in (REPOSITORY / folder).rglob("*")]
    found = [
        f"{file.relative_to(REPOSITORY)}: {line.strip()}"
        for file in (*files, *REPOSITORY.iterdir())
        if file.suffix in _SUFFIXES and file.is_file()
        for line in file.read_text(encoding="utf-8").splitlines()
        if BY_NAME.search(line)
    ]
    assert found == []


def test_workflow_installs_the_wheel_of_this_version() -> None:
    workflow = (REPOSITORY / "examples" / "github_actions.yml").read_text(encoding="utf-8")
    [version] = re.findall(
        r'VERSION = "(.*)"', (REPOSITORY / "sonnx_ort" / "versions.py").read_text(encoding="utf-8")
    )
    assert f"pip install wheels/sonnx_ort-{version}-py3-none-any.whl\n" in workflow


def test_no_dependency_is_the_name() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    names = [each for group in groups for each in group if isinstance(each, str)]
    assert not [name for name in names if re.match(r"sonnx[-_]ort", name)]
