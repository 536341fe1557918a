"""The checks of the repository, in the order in which they run."""

import json
import re
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import node_packages
from environment import LOCKS, Environment, captured
from wheels import build_wheel

SKIPPED = 77
"""The exit status of a check that could not be made here, which is no failure."""

Check = Callable[[], int]
"""Runs a check and gives its exit status."""

_SHARE: dict[str, Any] = {
    "SONNX_ORT_GRAPHS": "16",
    "SONNX_ORT_SPLICES": "16",
    "SONNX_ORT_RUNS": "2",
    "SONNX_ORT_EXAMPLES": "20",
}
"""How many random trials the tests make unless all is to be thorough.

Many are made with the packages of the lock file alone.
"""

_RUNS_OF_NUMBERS = {"SONNX_ORT_RUNS_OF_NUMBERS": "30"}
"""How often each operator runs with the oldest packages where bounds, intervals and elements that
are moved are tried: few runs miss what few operands show of an older kernel.
"""

_CASES = 2
"""How many cases of each test run unless all is to be thorough."""

_KERNELS = "tests/custom_ops/compiled"
"""The tests of the compiled kernels, which rest on the interface of ONNX Runtime."""

_RESTING_ON_OTHERS = ("tests/soundness", _KERNELS, "tests/upstream", "tests/end_to_end")
"""The tests that a newer release of another package is most likely to fail."""

_MINUTES = {"static": 1, "quick": 5, "thorough": 60, "lowest": 5, "newest": 3, "other backends": 3}
"""How long the checks take on two idle cores, rounded up, by what is checked."""

_WITHOUT_EXTENSIONS = ("3.14",)
"""The versions of Python that onnxruntime-extensions has no build for."""

_OF_OTHER_BACKENDS = ("tests/soundness", _KERNELS, "tests/test_backends.py")
"""The tests that say something without it; others expect what only the python backend does."""

_ON_ALL_CORES = ("-n", "auto", "--dist", "worksteal")
"""Options of pytest under which the tests of a module stay together, and share what they make."""


def choose_checks(
    environment: Environment,
    pytest_arguments: Sequence[str],
    *,
    models: bool = False,
    static: bool = False,
    thorough: bool = False,
) -> dict[str, Check]:
    """Choose what is checked.

    Args:
        environment: The environment to check in; those of the oldest and of the newest packages
            are for some of the tests alone.
        pytest_arguments: What is handed on to pytest.
        models: Whether to try the models of packages from the registry instead of all else.
        static: Whether to read the sources only, and run no test.
        thorough: Whether to run the long tests too, and all cases of each.

    Returns:
        The checks by name. All of them are to run, whether or not an earlier one fails.
    """
    share = {} if thorough and environment.versions == "locked" else _SHARE
    if environment.versions == "lowest":
        share = _SHARE | _RUNS_OF_NUMBERS

    def module(*command: str) -> int:
        return environment.call(["python", "-m", *command], environment.root, **share)

    def pytest(marked: str, *folders: str) -> int:
        return module("pytest", *_ON_ALL_CORES, "-m", marked, *folders, *pytest_arguments)

    def real_models() -> int:
        scripts = environment.root / "scripts"
        fetched = environment.call(["python", "-m", "real_models.packages"], scripts)
        return fetched or pytest("models")

    if models:
        return {"real models": real_models}
    marked = "not models and not sample" if thorough else "not models and not thorough"
    # Who names tests wants all of their cases; a file for the results names none.
    naming = [a for a in pytest_arguments if not a.startswith("--junit-xml=")]
    cases = () if thorough or naming else ("--cases", str(_CASES))
    if environment.versions == "lowest":
        return {"soundness, oldest packages": lambda: pytest(marked, "tests/soundness", _KERNELS)}
    if environment.versions == "newest":
        return {
            "newest packages": lambda: module("pip", "list", "--disable-pip-version-check"),
            "pytest, newest packages": lambda: pytest(marked, *_RESTING_ON_OTHERS),
        }
    reading: dict[str, Check] = {
        "ruff check": lambda: module("ruff", "check"),
        "ruff format": lambda: module("ruff", "format", "--check"),
        "mypy": lambda: check_types(environment),
    }
    if static:
        return reading
    if environment.python in _WITHOUT_EXTENSIONS and not naming:
        return {"other backends": lambda: pytest(marked, *_OF_OTHER_BACKENDS, *cases)}
    return reading | {
        "npm install": install_node_packages,
        "pytest": lambda: pytest(marked, *cases),
    }


def runs_with_newer(environment: Environment) -> bool:
    """Whether the project runs with a package here whose version the lock file does not have."""
    pinned = set()
    for line in (environment.root / LOCKS["runtime"]).read_text("utf-8").splitlines():
        name, separator, rest = line.partition("==")
        if separator and not line.startswith((" ", "#")):
            pinned.add((_normalized(name), rest.split()[0]))
    command = (environment.commands / "python", "-m", "pip", "list", "--format=json")
    listed = captured([*command, "--disable-pip-version-check"], check=True).stdout
    here = {(_normalized(each["name"]), each["version"]) for each in json.loads(listed)}
    names = {name for name, _ in pinned}
    return any(name in names for name, _ in here - pinned)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def announcement(checks: Mapping[str, Check], what: str) -> str:
    """Say what is going to be checked, and how long that takes if it is known.

    Args:
        checks: The checks.
        what: "static", "quick", "thorough", "lowest" or "newest"; of others nothing is known.
    """
    if what == "quick" and "pytest" not in checks:
        (what,) = checks
    number = "1 check" if len(checks) == 1 else f"{len(checks)} checks"
    minutes = _MINUTES.get(what, 0)
    if minutes:
        number += f", about {minutes} minute{'s' * (minutes > 1)} on 2 cores"
    return f"{number}: {', '.join(checks)}"


def check_types(environment: Environment) -> int:
    """Run mypy on the package as a wheel installs it, on the scripts and on the examples.

    The sources of one package lie in three folders of the repository, where mypy cannot see them
    as one.
    """
    root, folder = environment.root, environment.folder / "typing"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        # Kernels have no types, and take a compiler most of a minute.
        python = environment.commands / "python"
        installed = unpack_wheel(python, root, folder, SONNX_ORT_WITHOUT_KERNELS="1")
    except subprocess.CalledProcessError as error:
        print(f"The wheel cannot be built:\n{error.output}")
        return 1
    configuration = ("--config-file", root / "pyproject.toml", "--cache-dir", root / ".mypy_cache")
    command: tuple[str | Path, ...] = ("python", "-m", "mypy", *configuration)
    return environment.call([*command, "sonnx_ort", root / "scripts", root / "examples"], installed)


def unpack_wheel(python: Path, root: Path, folder: Path, **variables: str) -> Path:
    """Build the wheel of the sources as they are now, and unpack it; arguments as `build_wheel`.

    Raises:
        CalledProcessError: The sources make no wheel.
    """
    with zipfile.ZipFile(build_wheel(python, root, folder, **variables)) as archive:
        archive.extractall(folder / "site-packages")
    return folder / "site-packages"


def install_node_packages() -> int:
    """Get what some tests need to run models in Node.js; without it these are skipped."""
    try:
        return node_packages.install()
    except node_packages.NodeUnavailable as error:
        print(error)
        return SKIPPED


def run_checks(checks: Mapping[str, Check]) -> bool:
    """Run checks, each under a heading, and say of each in a line how it ended, and how soon."""
    statuses: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for number, (name, check) in enumerate(checks.items(), start=1):
        print(f"\n[{number} of {len(checks)}: {name}]", flush=True)
        begun = time.monotonic()
        statuses[name] = check()
        seconds[name] = time.monotonic() - begun
    width, verdicts = max(map(len, statuses)), {0: "passed", SKIPPED: "skipped, see above"}
    print()
    for name, status in statuses.items():
        verdict = verdicts.get(status, f"FAILED (exit status {status})")
        print(f"{name:{width}}  {verdict}, {seconds[name]:.0f} s")
    return all(status in {0, SKIPPED} for status in statuses.values())
