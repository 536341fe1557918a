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
facts:
deferred_sympy:
terms: facts
errors: terms
versions:
profile: errors facts terms
guards: facts profile terms
checker: facts guards profile terms
meaning: facts profile
custom_ops: errors profile terms
backends: custom_ops errors
loading: errors facts profile terms
models: errors profile terms
analysis.values: custom_ops errors facts loading profile terms
ort.inference: analysis.values facts loading profile
analysis.values.value_facts: analysis.values facts loading ort.inference profile terms
analysis: analysis.values analysis.values.value_facts errors facts loading profile terms
    versions
conforming: analysis analysis.values analysis.values.value_facts errors facts loading profile
    terms
options: analysis backends errors profile
analysis.certificates: analysis checker errors facts loading profile terms
ort.disabled_optimizers: facts profile
enforcing: analysis analysis.certificates analysis.values analysis.values.value_facts backends
    custom_ops errors facts guards loading options ort.disabled_optimizers ort.inference
    profile terms
pipeline: analysis analysis.certificates backends conforming enforcing errors loading options
    profile
evidence: analysis checker conforming errors loading options pipeline profile versions
caching: analysis backends custom_ops errors facts loading options pipeline profile terms
    versions
api: analysis backends caching errors evidence loading options pipeline profile
api.files: analysis analysis.certificates api backends caching errors evidence loading options
    pipeline profile
ort: analysis api backends caching custom_ops errors facts loading options
    ort.disabled_optimizers pipeline profile terms
runs: analysis api backends custom_ops enforcing errors facts guards loading meaning models
    options ort ort.disabled_optimizers profile terms
vectors: backends errors facts loading meaning ort profile runs terms versions
installation: analysis backends custom_ops errors evidence models ort profile runs versions
conforming.assumptions: analysis errors facts loading ort terms
conforming.input_statements: conforming errors ort profile runs
conforming.conformity: analysis backends conforming conforming.assumptions
    conforming.input_statements errors facts loading options ort pipeline profile runs
samples: analysis analysis.values analysis.values.value_facts errors facts loading profile
    runs terms
passes: api conforming.conformity errors loading options pipeline
torch: analysis api conforming.conformity errors options profile
reporting: analysis backends conforming conforming.conformity enforcing errors evidence facts
    loading meaning options pipeline profile runs terms vectors
"""
"""Each room, and the rooms that it may import; a file of a folder may be a room of its own."""

BELOW = {
    room: set(below.split())
    for room, below in re.findall(r"^([\w.]+):(.*(?:\n .*)*)", ROOMS, re.MULTILINE)
}

ANNEXES = set(
    re.findall(
        r"[\w.]+",
        "analysis.certificates api.files caching checker cli conforming evidence installation "
        "meaning models passes reporting runs samples torch vectors",
    )
)
"""The rooms that are imported at their first use: no enforced model needs them."""


def is_annex(room: str) -> bool:
    """Whether a room is an annex, or lies in one."""
    return room in ANNEXES or room.partition(".")[0] in ANNEXES


FOLDERS = {
    "custom_ops": REPOSITORY / "custom_ops",
    "models": REPOSITORY / "models",
}


def sources(room: str) -> list[Path]:
    place = FOLDERS.get(room, REPOSITORY.joinpath("sonnx_ort", *room.split(".")))
    if not place.is_dir():
        return [place.with_suffix(".py")]
    inner = {REPOSITORY.joinpath("sonnx_ort", *each.split(".")) for each in BELOW if each != room}
    inner = {each for each in inner if place in each.parents}
    return sorted(
        p for p in place.rglob("*.py") if not inner.intersection([p.with_suffix(""), *p.parents])
    )


def room_of(module: str) -> str:
    """The room that has a module: the longest name in the table."""
    parts = module.split(".")[1:]
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in BELOW), parts[0])


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
            case ast.ImportFrom(module=str() as module, level=0, names=names):
                if module.partition(".")[0] == "sonnx_ort":
                    yield from (room_of(f"{module}.{alias.name}") for alias in names)
            case ast.Import(names=names):
                modules = (alias.name for alias in names)
                yield from (room_of(each) for each in modules if each.startswith("sonnx_ort."))


@pytest.mark.parametrize("room", BELOW)
def test_room_imports_only_rooms_below(room: str) -> None:
    for path in sources(room):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        above = set(imported_rooms(ast.walk(tree))) - BELOW[room] - {room}
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
    small = {"deferred_sympy", "backends"}
    assert {room for room in BELOW if "." not in room} - set(PLACES) == small


@pytest.mark.parametrize(
    "room", ["__init__", *sorted(room for room in BELOW if not is_annex(room))]
)
def test_core_imports_no_annex_before_it_is_used(room: str) -> None:
    for path in sources(room):
        module = ast.parse(path.read_text(encoding="utf-8"))
        annexes = set(filter(is_annex, imported_rooms(run_at_import(module))))
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
    assert not [module for module in modules if is_annex(room_of(module))]
    places = {"native": "native.backend"}
    used = {b for b in Backend if f"sonnx_ort.enforcing.{places.get(b, f'{b}_backend')}" in modules}
    # The compiled backend guards natively where it has no kernel.
    assert used == ({backend, "native"} if backend == "compiled" else {backend})


def test_every_room_has_its_place() -> None:
    entries = (REPOSITORY / "sonnx_ort").iterdir()
    rooms = {p.stem for p in entries if (p.is_dir() or p.suffix == ".py") and p.stem[0] != "_"}
    assert rooms | set(FOLDERS) == {room.partition(".")[0] for room in BELOW} | {"cli"}
