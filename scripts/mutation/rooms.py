"""The rooms of the product, each with the tests that own what it promises."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from environment import ROOT

_AT_THE_ROOT = ("custom_ops", "models")
"""The rooms that lie beside the package."""

TESTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "__init__": ("tests/test_import.py",),
        "analysis": ("tests/analysis", "tests/certificates"),
        "api": ("tests/pipeline", "tests/api", "tests/certificates", "tests/test_typing.py"),
        "backends": ("tests/test_backends.py",),
        "caching": ("tests/caching", "tests/cli/test_cache.py"),
        "checker": ("tests/certificates",),
        "cli": ("tests/cli",),
        "conforming": ("tests/conforming", "tests/cli/test_conform.py"),
        "custom_ops": ("tests/custom_ops",),
        "deferred_sympy": ("tests/test_import.py",),
        "enforcing": ("tests/enforcing",),
        "errors": ("tests/errors", "tests/pipeline", "tests/ort"),
        "evidence": ("tests/evidence",),
        "facts": ("tests/facts", "tests/soundness/test_interval_relations.py"),
        "guards": ("tests/guards", "tests/enforcing"),
        "installation": (
            "tests/installation",
            "tests/cli/test_self_check.py",
            "tests/cli/test_demonstration.py",
        ),
        "loading": (
            "tests/loading",
            "tests/evidence/test_damaged_records.py",
            "tests/evidence/test_recorded.py",
        ),
        "meaning": ("tests/meaning",),
        "models": ("tests/models",),
        "options": ("tests/pipeline",),
        "ort": ("tests/ort",),
        "passes": ("tests/test_passes.py",),
        "pipeline": ("tests/pipeline",),
        "profile": ("tests/profile", "tests/reporting/test_rules_pages.py"),
        "reporting": ("tests/reporting",),
        "runs": ("tests/runs", "tests/cli/test_values.py"),
        "samples": ("tests/samples",),
        "terms": ("tests/terms",),
        "torch": ("tests/test_torch.py",),
        "vectors": ("tests/vectors",),
        "versions": ("tests/installation/test_self_check.py",),
    }
)
"""The tests by the names of the rooms, as files and folders."""


def place_of(room: str) -> str:
    """The folder or the file of a room, from the repository's root."""
    if room in _AT_THE_ROOT:
        return room
    folder = f"sonnx_ort/{room}"
    return folder if (ROOT / folder).is_dir() else f"{folder}.py"


def room_of(path: str) -> str:
    """The room that a file belongs to; nothing if it belongs to none."""
    rooms = (room for room in TESTS if f"{path}/".startswith(f"{place_of(room)}/"))
    return next(rooms, "")


def mirrors(path: str, tests: Iterable[str]) -> list[str]:
    """The files of tests whose names say that they are a file's: test_log*.py for log.py."""
    folders = (ROOT / test for test in tests)
    found = (file for folder in folders for file in folder.rglob(f"test_{Path(path).stem}*.py"))
    return sorted(file.relative_to(ROOT).as_posix() for file in found)


def by_room(paths: Iterable[str]) -> dict[str, list[str]]:
    """Files by their rooms."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(room_of(path), []).append(path)
    return found


def places(names: Sequence[str]) -> list[str]:
    """The folders and files that are meant by names of rooms, and by other folders and files."""
    return [place_of(name) if name in TESTS else name for name in names]
