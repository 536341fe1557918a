"""The configuration index, and the sets of verification cases."""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from environment import LOCKS, ROOT

from qualifying.markdown import table
from sonnx_ort.versions import TRIED, VERSION

TOP = "test_*.py"
"""The name of the set of tests that lie in no folder of `tests/`."""


def read_procedures() -> Mapping[str, str]:
    """What each set of verification cases shows, by its name."""
    return tomllib.loads(Path(__file__).with_name("procedures.toml").read_text("utf-8"))


def set_of(file: str) -> str:
    """The set of verification cases that a file of tests belongs to."""
    _, *folders, _ = Path(file).parts
    return folders[0] if folders else TOP


def command_of(name: str) -> str:
    """The command that runs a set of verification cases."""
    # pytest leaves these out, because they need a network.
    by_script = name == "real_models"
    return "python3 scripts/test.py --models" if by_script else f".venv/bin/pytest tests/{name}"


def tables() -> dict[str, str]:
    """The tables of the page, in Markdown."""
    shown = ((f"`{command_of(name)}`", shows) for name, shows in read_procedures().items())
    return {
        "versions": table(
            ("package", "oldest supported", "newest in the tests"),
            [("sonnx_ort", VERSION, VERSION), *((name, *ends) for name, ends in TRIED.items())],
        ),
        "files": table(
            ("file", "what it is", "SHA-256"),
            ((f"`{path}`", what, f"`{_digest(path)}`") for path, what in _files()),
        ),
        "sets": table(("command", "what the cases show"), shown),
    }


def _digest(path: str) -> str:
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()


def _files() -> Iterator[tuple[str, str]]:
    yield "sonnx_ort.cdx.json", "the bill of materials, in CycloneDX 1.6; it is part of the wheel"
    for kind, file in LOCKS.items():
        whose = "demo" if kind == "runtime" else "tests"
        yield file, f"the {kind} packages of the {whose}, with their hashes"
    yield "models/manifest.json", "the bundled models and the expected outcome of each case"
    yield "docs/report.schema.json", "the schema of JSON reports"
