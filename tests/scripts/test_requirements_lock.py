import re
import tomllib
from pathlib import Path

import pytest
from lock import FOREIGN
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIRED = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
PLATFORMS = [
    {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": platform}
    for python in ("3.11", "3.12", "3.13")
    for platform in ("linux", "darwin", "win32")
]
ENTRY = re.compile(
    r"^([a-z0-9-]+==[^\\\n]+?) \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", re.MULTILINE
)


def pinned(platform):
    """The version of each package on a platform."""
    requirements = [Requirement(text) for text in ENTRY.findall(LOCK)]
    return {
        canonicalize_name(requirement.name): Version(next(iter(requirement.specifier)).version)
        for requirement in requirements
        if requirement.marker is None or requirement.marker.evaluate(platform)
    }


def test_every_line_pins_a_package_with_hashes_or_is_a_comment():
    rest = ENTRY.sub("", LOCK)
    assert [line for line in rest.splitlines() if not line.startswith("#")] == []


def test_no_address_path_or_option_of_pip_is_in_it():
    assert FOREIGN.findall(LOCK) == []


@pytest.mark.parametrize(
    "platform", PLATFORMS, ids=lambda p: f"{p['python_version']}-{p['sys_platform']}"
)
def test_what_the_project_requires_is_pinned_on_every_platform(platform):
    versions = pinned(platform)
    required = [Requirement(text) for text in REQUIRED]
    assert [
        str(requirement)
        for requirement in required
        if not requirement.specifier.contains(
            versions.get(canonicalize_name(requirement.name), "0")
        )
    ] == []
