"""Data flows one way: each room knows only the rooms below it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

BELOW: dict[str, set[str]] = {
    "printable": set(),
    "kernel": set(),
    "errors": {"printable"},
    "arguments": {"errors"},
    "versions": set(),
    "profile": {"kernel", "printable"},
    "oracle": {"kernel", "profile"},
    "reading": {"errors"},
    "custom_ops": {"errors", "printable", "profile"},
    "backends": {"arguments", "custom_ops", "errors"},
    "loading": {"errors", "kernel", "profile", "reading"},
    "models": {"errors", "profile"},
    "files": {"errors", "loading"},
    "value_files": {"errors", "files"},
    "knowledge": {"kernel", "custom_ops", "errors", "loading", "profile"},
    "obligations": {
        "arguments",
        "errors",
        "kernel",
        "knowledge",
        "loading",
        "printable",
        "profile",
        "reading",
        "versions",
    },
    "conforming": {
        "kernel",
        "errors",
        "knowledge",
        "loading",
        "obligations",
        "printable",
        "profile",
    },
    "options": {"arguments", "backends", "errors", "obligations", "profile"},
    "certificates": {"kernel", "errors", "loading", "obligations", "printable", "profile"},
    "enforcing": {
        "backends",
        "certificates",
        "custom_ops",
        "errors",
        "kernel",
        "knowledge",
        "loading",
        "obligations",
        "options",
        "printable",
        "profile",
    },
    "pipeline": {
        "backends",
        "certificates",
        "conforming",
        "enforcing",
        "errors",
        "loading",
        "obligations",
        "options",
        "profile",
    },
    "evidence": {
        "arguments",
        "certificates",
        "kernel",
        "conforming",
        "errors",
        "files",
        "loading",
        "obligations",
        "options",
        "pipeline",
        "printable",
        "profile",
        "reading",
        "versions",
    },
    "api": {
        "arguments",
        "backends",
        "certificates",
        "conforming",
        "custom_ops",
        "errors",
        "evidence",
        "files",
        "loading",
        "obligations",
        "options",
        "pipeline",
        "profile",
    },
    "runtime": {
        "arguments",
        "backends",
        "custom_ops",
        "errors",
        "loading",
        "options",
        "pipeline",
        "printable",
        "profile",
    },
    "comparing": {
        "backends",
        "custom_ops",
        "errors",
        "loading",
        "models",
        "pipeline",
        "profile",
        "runtime",
    },
    "auditing": {
        "custom_ops",
        "arguments",
        "comparing",
        "enforcing",
        "errors",
        "loading",
        "models",
        "options",
        "oracle",
        "pipeline",
        "profile",
        "runtime",
        "value_files",
    },
    "demonstration": {"backends", "errors", "models", "obligations", "runtime"},
    "installation": {
        "backends",
        "comparing",
        "custom_ops",
        "demonstration",
        "errors",
        "evidence",
        "models",
        "printable",
        "profile",
        "runtime",
        "versions",
    },
    "conformity": {
        "arguments",
        "backends",
        "comparing",
        "conforming",
        "errors",
        "files",
        "loading",
        "obligations",
        "options",
        "pipeline",
        "profile",
    },
    "reporting": {
        "auditing",
        "comparing",
        "conforming",
        "conformity",
        "enforcing",
        "errors",
        "loading",
        "obligations",
        "options",
        "pipeline",
        "printable",
        "profile",
    },
}

FOLDERS = {
    "custom_ops": REPOSITORY / "custom_ops",
    "models": REPOSITORY / "models",
}


def sources(room: str) -> list[Path]:
    place = FOLDERS.get(room, REPOSITORY / "sonnx_ort" / room)
    if not place.is_dir():
        return [place.with_suffix(".py")]
    inner = [folder for folder in FOLDERS.values() if place in folder.parents]
    return sorted(p for p in place.rglob("*.py") if not any(f in p.parents for f in inner))


def imported_rooms(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module="sonnx_ort", names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str() as module) if module.startswith("sonnx_ort."):
                yield module.split(".")[1]
            case ast.Import(names=names):
                parts = [alias.name.split(".") for alias in names]
                yield from (p[1] for p in parts if p[0] == "sonnx_ort" and len(p) > 1)


@pytest.mark.parametrize("room", BELOW)
def test_room_imports_only_rooms_below(room: str) -> None:
    for path in sources(room):
        above = set(imported_rooms(path)) - BELOW[room] - {room}
        assert not above, f"{path.relative_to(REPOSITORY)} imports {', '.join(sorted(above))}"


def test_every_room_has_its_place() -> None:
    entries = (REPOSITORY / "sonnx_ort").iterdir()
    rooms = {p.stem for p in entries if (p.is_dir() or p.suffix == ".py") and p.stem[0] != "_"}
    assert rooms | set(FOLDERS) == set(BELOW) | {"cli"}
