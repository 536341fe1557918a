import re
import tomllib
from pathlib import Path

import pytest
from environment import PYTHONS
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements.runtime.lock", "requirements.lowest.lock")
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in LOCKS}
DOCUMENT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = DOCUMENT["project"], DOCUMENT["dependency-groups"]
TESTING = [
    *PROJECT["optional-dependencies"]["oracle"],
    *(entry for entry in GROUPS["dev"] if isinstance(entry, str)),
]
FURTHER = {
    "requirements.lock": [*TESTING, *GROUPS["proofs"], *GROUPS["mutation"]],
    "requirements.runtime.lock": [],
    "requirements.lowest.lock": TESTING,
}
PLATFORMS = [
    {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": platform,
        "platform_machine": machine,
    }
    for python in PYTHONS
    for platform in ("linux", "darwin", "win32")
    for machine in ("AMD64", "ARM64")
]
ENTRY = re.compile(
    r"^([a-z0-9-]+==[^\\\n]+?) \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", re.MULTILINE
)


each_lock = pytest.mark.parametrize("lock", TEXTS)
each_platform = pytest.mark.parametrize(
    "platform",
    PLATFORMS,
    ids=lambda p: f"{p['python_version']}-{p['sys_platform']}-{p['platform_machine']}",
)


def pinned(lock, platform):
    """The version of each package on a platform."""
    requirements = [Requirement(text) for text in ENTRY.findall(TEXTS[lock])]
    return {
        canonicalize_name(requirement.name): Version(next(iter(requirement.specifier)).version)
        for requirement in requirements
        if applies(requirement, platform)
    }


def applies(requirement, platform):
    return requirement.marker is None or requirement.marker.evaluate(platform)


@each_lock
def test_every_line_pins_a_package_with_hashes_or_is_a_comment(lock):
    rest = ENTRY.sub("", TEXTS[lock])
    assert [line for line in rest.splitlines() if not line.startswith("#")] == []


@each_platform
def test_oldest_supported_versions_are_those_of_the_project(platform):
    versions = pinned("requirements.lowest.lock", platform)
    for requirement in map(Requirement, PROJECT["dependencies"]):
        if not applies(requirement, platform):
            continue
        (lowest,) = requirement.specifier
        assert versions[canonicalize_name(requirement.name)] == Version(lowest.version)


@each_lock
@each_platform
def test_what_the_project_requires_is_pinned_on_every_platform(lock, platform):
    versions = pinned(lock, platform)
    texts = (*PROJECT["dependencies"], *GROUPS["build"], *FURTHER[lock])
    required = [Requirement(text) for text in texts]
    assert [
        str(requirement)
        for requirement in required
        if applies(requirement, platform)
        and not requirement.specifier.contains(
            versions.get(canonicalize_name(requirement.name), "0")
        )
    ] == []


def test_runtime_packages_are_those_of_the_tests_without_what_only_developers_need():
    tests, runtime = ({entry[0] for entry in re.finditer(ENTRY, TEXTS[name])} for name in LOCKS[:2])
    assert runtime < tests
    names = {re.split("[=<>]", entry)[0] for entry in runtime}
    assert names.isdisjoint(Requirement(text).name for text in FURTHER["requirements.lock"])
