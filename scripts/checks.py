"""The checks of the repository, in the order in which they run."""

import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from environment import Environment
from package_wheel import WheelNotBuilt, build_wheel

Check = Callable[[Environment, Sequence[str]], int]
"""Runs a check with the arguments for pytest; gives an exit status."""


def check_style(environment: Environment, pytest_arguments: Sequence[str]) -> int:
    """Run the linter."""
    del pytest_arguments
    return environment.call(["python", "-m", "ruff", "check"], environment.root)


def check_format(environment: Environment, pytest_arguments: Sequence[str]) -> int:
    """Compare the sources with what the formatter would make of them."""
    del pytest_arguments
    return environment.call(["python", "-m", "ruff", "format", "--check"], environment.root)


def check_types(environment: Environment, pytest_arguments: Sequence[str]) -> int:
    """Run mypy on the package as the wheel installs it, and on the scripts.

    The sources of one package lie in three folders of the repository, where mypy cannot see them
    as one.
    """
    del pytest_arguments
    root = environment.root
    try:
        installed = unpack_package(environment, environment.folder / "typing")
    except WheelNotBuilt as error:
        print(f"The wheel cannot be built:\n{error}")
        return 1
    mypy = ["python", "-m", "mypy", "--config-file", str(root / "pyproject.toml")]
    cache = ["--cache-dir", str(root / ".mypy_cache")]
    return environment.call([*mypy, *cache, "sonnx_ort", root / "scripts"], installed)


def install_node_packages(environment: Environment, pytest_arguments: Sequence[str]) -> int:
    """Get what some tests need to run models in Node.js; without it these are skipped."""
    del pytest_arguments
    return environment.call(["python", environment.root / "scripts" / "fetch_node_packages.py"])


def check_behaviour(environment: Environment, pytest_arguments: Sequence[str]) -> int:
    """Run the tests."""
    return environment.call(["python", "-m", "pytest", *pytest_arguments], environment.root)


def check_real_models(environment: Environment, pytest_arguments: Sequence[str]) -> int:
    """Run the tests on models of other people's packages; without a network they are skipped."""
    fetched = environment.call(["python", environment.root / "scripts" / "fetch_models.py"])
    if fetched != 0:
        return fetched
    command = ["python", "-m", "pytest", "-m", "models", *pytest_arguments]
    return environment.call(command, environment.root)


def check_soundness(environment: Environment, pytest_arguments: Sequence[str]) -> int:
    """Run the tests of what `check` is sure of."""
    command = ["python", "-m", "pytest", "tests/soundness", *pytest_arguments]
    return environment.call(command, environment.root)


SKIPPED = 77
"""The exit status of a check that could not be made here, which is no failure."""

CHECKS: Mapping[str, Check] = {
    "ruff check": check_style,
    "ruff format": check_format,
    "mypy": check_types,
    "npm install": install_node_packages,
    "pytest": check_behaviour,
}
"""The checks by name. All of them run, whether or not an earlier one fails."""

MODEL_CHECKS: Mapping[str, Check] = {"real models": check_real_models}
"""What `--models` runs instead."""

LOWEST_CHECKS: Mapping[str, Check] = {"soundness, oldest packages": check_soundness}
"""What `--lowest` runs instead."""


def unpack_package(environment: Environment, folder: Path) -> Path:
    """Unpack the wheel of the sources as they are now.

    Args:
        environment: The environment to build it in.
        folder: What it holds is replaced.

    Returns:
        The folder that stands for site-packages.

    Raises:
        WheelNotBuilt: The sources make no wheel.
    """
    shutil.rmtree(folder, ignore_errors=True)
    wheel = build_wheel(environment.python, environment.root, folder / "wheel")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site-packages")
    return folder / "site-packages"


def run_checks(
    checks: Mapping[str, Check], environment: Environment, pytest_arguments: Sequence[str]
) -> dict[str, int]:
    """Run checks, each under a heading.

    Args:
        checks: The checks by name.
        environment: The environment that they run in.
        pytest_arguments: What is handed on to pytest.

    Returns:
        The exit statuses by the checks' names.
    """
    statuses: dict[str, int] = {}
    for name, check in checks.items():
        print(f"\n[{name}]", flush=True)
        statuses[name] = check(environment, pytest_arguments)
    return statuses


def summary(statuses: Mapping[str, int]) -> str:
    """Say in one line for each check how it ended.

    Args:
        statuses: The exit statuses by the checks' names.
    """
    width = max(map(len, statuses))
    return "\n".join(f"{name:{width}}  {_verdict(status)}" for name, status in statuses.items())


def failed(statuses: Mapping[str, int]) -> bool:
    """Whether a check failed.

    Args:
        statuses: The exit statuses by the checks' names.
    """
    return any(status not in {0, SKIPPED} for status in statuses.values())


def _verdict(status: int) -> str:
    if status == SKIPPED:
        return "skipped, see above"
    return f"FAILED (exit status {status})" if status else "passed"
