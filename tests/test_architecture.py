"""Data flows one way: each room knows only the rooms below it, and the core needs no annex."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonnx_ort.backends import Backend
from support.backends import BACKENDS
from support.child import run_python

REPOSITORY = Path(__file__).resolve().parents[1]

ROOMS = """
kernel:
progress:
deferred_sympy:
errors: remedies terms
remedies:
arguments: errors
versions:
terms: kernel
written: terms
profile: kernel remedies terms
guards: kernel profile terms
checker: guards kernel profile terms
oracle: kernel profile
reading: errors
custom_ops: errors profile terms
backends: arguments custom_ops errors
loading: errors kernel profile reading
models: errors profile terms
files: errors loading remedies
value_files: errors files
knowledge: custom_ops errors kernel loading profile terms
obligations: arguments errors kernel knowledge loading profile progress reading remedies terms
    versions written
conforming: errors kernel knowledge loading obligations profile progress remedies terms
    written
options: arguments backends errors obligations profile remedies
certificates: checker errors kernel loading obligations profile progress terms
enforcing: backends certificates custom_ops errors guards kernel knowledge loading obligations
    options profile terms written
unenforced: options pipeline remedies
pipeline: backends certificates conforming enforcing errors loading obligations options profile
    written
evidence: arguments certificates checker conforming errors files loading obligations options
    pipeline profile reading remedies versions
api: arguments backends errors evidence files loading obligations options pipeline profile
    unenforced
file_api: api arguments backends certificates errors evidence files loading obligations options
    pipeline profile unenforced
runtime: arguments backends custom_ops errors guards kernel loading obligations options pipeline
    profile remedies terms unenforced
comparing: api arguments backends custom_ops enforcing errors files guards kernel loading models
    obligations options oracle pipeline profile progress remedies runtime terms value_files
suite: backends comparing errors files kernel oracle profile reading runtime terms versions
demonstration: backends errors models obligations runtime
installation: backends comparing custom_ops demonstration errors evidence models profile
    runtime versions
assumptions: errors loading obligations profile runtime terms
proposing: comparing conforming profile remedies runtime
conformity: arguments assumptions backends comparing conforming errors files kernel loading
    obligations options pipeline profile proposing remedies runtime
envelope: arguments comparing errors kernel knowledge loading obligations profile remedies terms
    value_files
passes: api arguments conformity loading options pipeline unenforced
torch: api conformity errors obligations options profile
reporting: backends comparing conforming conformity enforcing errors evidence kernel loading
    obligations options oracle pipeline profile remedies suite terms written
"""
"""Each room, and the rooms that it may import."""

BELOW = {
    room: set(below.split())
    for room, below in re.findall(r"^(\w+):(.*(?:\n .*)*)", ROOMS, re.MULTILINE)
}

AT_FIRST_USE = {"obligations": {"reporting"}, "conformity": {"reporting"}}
"""The rooms that functions of a room import: results are shown by a room that reads them."""

ANNEXES = set(
    re.findall(
        r"\w+",
        "assumptions certificates checker cli comparing conforming conformity demonstration "
        "envelope evidence file_api installation models oracle passes proposing reporting suite "
        "torch value_files",
    )
)
"""The rooms that are imported at their first use: no enforced model needs them."""

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


def every_part(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def run_at_import(part: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported: no body of a function, nothing for type checkers."""
    match part:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=inner):
            pass
        case _:
            yield part
            inner = ast.iter_child_nodes(part)
    for each in inner:
        yield from run_at_import(each)


def imported_rooms(parts: Iterator[ast.AST]) -> Iterator[str]:
    for node in parts:
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
        tree = ast.parse(path.read_text(encoding="utf-8"))
        above = set(imported_rooms(ast.walk(tree))) - AT_FIRST_USE.get(room, set())
        above |= set(imported_rooms(run_at_import(tree)))
        above -= BELOW[room] | {room}
        assert not above, f"{path.relative_to(REPOSITORY)} imports {', '.join(sorted(above))}"


PLACES = re.findall(
    r"^(?:    sonnx_ort/ +| {4}| {19})([a-z]\w+)/?(?= |$)",
    (REPOSITORY / "docs" / "design.md").read_text(encoding="utf-8").partition("## Packages")[2],
    re.MULTILINE,
)
"""The rooms in the order of the list of the page."""


@pytest.mark.parametrize("room", PLACES)
def test_page_lists_each_room_below_those_that_it_imports(room: str) -> None:
    if room in BELOW:
        assert BELOW[room] & set(PLACES) <= set(PLACES[: PLACES.index(room)])


def test_page_lists_every_room_but_small_ones() -> None:
    small = {"deferred_sympy", "errors", "arguments", "reading", "backends", "files"}
    small |= {"value_files", "assumptions", "progress", "proposing", "remedies", "unenforced"}
    small |= {"written"}
    assert set(BELOW) - set(PLACES) == small


def test_page_names_the_rooms_that_import_another_only_to_show_results() -> None:
    page = (REPOSITORY / "docs" / "design.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"Functions of `(\w+)` and `(\w+)` also\s+import `reporting`", page)
    assert {room: {"reporting"} for room in named} == AT_FIRST_USE


@pytest.mark.parametrize("room", ["__init__", *sorted(set(BELOW) - ANNEXES)])
def test_core_imports_no_annex_before_it_is_used(room: str) -> None:
    for path in sources(room):
        module = ast.parse(path.read_text(encoding="utf-8"))
        annexes = ANNEXES.intersection(imported_rooms(run_at_import(module)))
        assert not annexes, f"{path.relative_to(REPOSITORY)} imports {', '.join(sorted(annexes))}"


RUN = """
import json, sys
import numpy as np
import onnx.parser
import sonnx_ort

model = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["": 17]>'
    "g (float[n] x, float[m] y) => (float[n] z) { z = Div(x, y) }"
)
ones = np.ones(2, np.float32)
for each in (model, sonnx_ort.rewrite(model, backend=BACKEND)):
    session = sonnx_ort.InferenceSession(each, backend=BACKEND)
    (result,) = session.run(None, {"x": ones, "y": ones})
    assert (result == ones).all()
print(json.dumps([each for each in sys.modules if each.startswith("sonnx_ort.")]))
"""


@BACKENDS
def test_enforced_model_is_made_and_run_without_any_annex(backend: str) -> None:
    child = run_python(f"BACKEND = {backend!r}", RUN, fresh=True)
    assert child.exit_status == 0, child
    modules = json.loads(child.stdout)
    assert not ANNEXES.intersection(module.split(".")[1] for module in modules)
    places = {"native": "native.backend"}
    used = {b for b in Backend if f"sonnx_ort.enforcing.{places.get(b, f'{b}_backend')}" in modules}
    # The compiled backend guards natively where it has no kernel.
    assert used == ({backend, "native"} if backend == "compiled" else {backend})


def test_every_room_has_its_place() -> None:
    entries = (REPOSITORY / "sonnx_ort").iterdir()
    rooms = {p.stem for p in entries if (p.is_dir() or p.suffix == ".py") and p.stem[0] != "_"}
    assert rooms | set(FOLDERS) == set(BELOW) | {"cli"}
