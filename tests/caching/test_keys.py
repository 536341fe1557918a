"""What a key depends on: all that decides a result, also what is added later."""

import dataclasses
import datetime as dt
import enum
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from model_builders.graphs import parse

import sonnx_ort
from sonnx_ort import Contract, SizeContract, ValueContract
from sonnx_ort.caching import keys
from sonnx_ort.caching.keys import environment, key_of
from sonnx_ort.caching.values import NotKept
from sonnx_ort.loading.source import ReadModel, read
from sonnx_ort.options import Choices
from support.package_copy import REPOSITORY, PackageCopy
from support.waivers import SHAPES

MODEL = parse("(float[n] x, float[n] y) => (float[n] z) { z = Div(x, y) }")

CHOICES = Choices.of(
    waivers=(SHAPES,),
    contract=Contract((ValueContract("x", (0.0, 1.0)),), (), (SizeContract("n", 1, 8),)),
)


def key(choices: object = CHOICES, model: onnx.ModelProto = MODEL, kind: str = "report") -> str:
    return key_of(kind, read(model), choices)


CHANGED: dict[type, Callable[[Any], Any]] = {
    bool: lambda value: not value,
    int: lambda value: value + 1,
    float: lambda value: value + 1,
    str: lambda value: f"{value}!",
    dt.date: lambda _: dt.date(2031, 1, 1),
    frozenset: lambda value: value | {"another"},
    tuple: lambda value: (*value, "another"),
    type(None): lambda _: 1,
}
"""Makes another value of one."""


def others(value: Any) -> Iterator[Any]:
    """Values that differ from a value in one part, at any depth: each field of each class."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        for name, other in ((n, o) for n in names for o in others(getattr(value, n))):
            changed = object.__new__(type(value))
            for each in names:
                object.__setattr__(changed, each, other if each == name else getattr(value, each))
            yield changed
        return
    if isinstance(value, enum.Enum):
        yield next(each for each in type(value) if each is not value)
        return
    # A value of another type would need a line in the table.
    yield CHANGED[type(value)](value)
    if isinstance(value, tuple):
        for index, part in enumerate(value):
            yield from ((*value[:index], o, *value[index + 1 :]) for o in others(part))


OTHERS = list(others(CHOICES))


@pytest.mark.parametrize("changed", OTHERS, ids=map(str, range(len(OTHERS))))
def test_each_field_of_the_choices_is_in_the_key(changed: Choices) -> None:
    assert key(changed) != key()


def test_fields_of_the_classes_in_choices_are_all_tried() -> None:
    kinds = {type(CHOICES), type(CHOICES.demands), type(CHOICES.demands.contract), type(SHAPES)}
    assert len(OTHERS) >= sum(len(dataclasses.fields(kind)) for kind in kinds)


@dataclasses.dataclass(frozen=True)
class LaterChoices(Choices):
    """Choices with an option that was added later."""

    later: object = None


def test_option_of_an_unknown_class_makes_no_key() -> None:
    given = {f.name: getattr(CHOICES, f.name) for f in dataclasses.fields(CHOICES)}
    with pytest.raises(NotKept):
        key(LaterChoices(**given))
    with pytest.raises(NotKept):
        key(Choices(**{**given, "demands": {}.keys()}))


KEYED: dict[Callable[..., object], dict[str, str]] = {
    sonnx_ort.check: {
        "model": "the model",
        **dict.fromkeys(("edition", "broadcast", "operators", "backend", "contract"), "choices"),
        "forecast": "by itself",
        "waivers": "applied to the report that was found",
        "record": "with it nothing is found",
        "cache": "the folder",
    },
    sonnx_ort.rewrite: {
        "model": "the model",
        "options": "choices",
        "cache": "the folder",
    },
    sonnx_ort.rewrite_file: {
        "source": "the model",
        "target": "where the result goes",
        "external_data": "what is done with the data beside the result",
        "record": "with it nothing is found",
        "certificate": "with it nothing is found",
        "force": "whether the result may be written",
        "options": "choices",
        "cache": "the folder",
    },
    sonnx_ort.InferenceSession.__init__: {
        "self": "the session",
        "path_or_bytes": "the model",
        "sess_options": "external data that they hold is part of the model",
        **dict.fromkeys(("providers", "provider_options", "kwargs"), "of the session alone"),
        **dict.fromkeys(("edition", "broadcast", "operators", "backend", "conform"), "choices"),
        **dict.fromkeys(("waivers", "contract"), "choices"),
        "verify_proofs": "of the session alone",
        "cache": "the folder",
    },
}
"""How each argument of a function that takes a cache is accounted for."""


@pytest.mark.parametrize("function", KEYED, ids=lambda function: function.__qualname__)
def test_each_argument_is_accounted_for(function: Callable[..., object]) -> None:
    assert set(inspect.signature(function).parameters) == set(KEYED[function])


def test_model_as_read_has_nothing_else_that_decides() -> None:
    assert {field.name for field in dataclasses.fields(ReadModel)} == {"proto", "folder", "sha256"}


MODELS = {
    "a name": "(float[n] x, float[n] y) => (float[n] w) { w = Div(x, y) }",
    "an operator": "(float[n] x, float[n] y) => (float[n] z) { z = Sub(x, y) }",
    "a shape": "(float[n] x, float[2] y) => (float[n] z) { z = Div(x, y) }",
}


@pytest.mark.parametrize("name", MODELS)
def test_another_model_has_another_key(name: str) -> None:
    assert key(model=parse(MODELS[name])) != key()


@pytest.mark.parametrize("name", MODELS)
def test_model_without_a_digest_of_its_file_is_known_by_its_content(name: str) -> None:
    found = {
        key_of("model", ReadModel(proto, None, ""), CHOICES)
        for proto in (MODEL, parse(MODELS[name]))
    }
    assert len(found) == 2


def test_digest_of_the_file_is_in_the_key_because_reports_have_it() -> None:
    found = {key_of("report", ReadModel(MODEL, None, sha256), CHOICES) for sha256 in "ab"}
    assert len(found) == 2


def test_what_is_made_is_in_the_key() -> None:
    assert key(kind="model").partition("-")[2] != key().partition("-")[2]


def test_what_a_result_depends_on_beside_the_choices_is_in_the_key() -> None:
    found = {key_of("report", read(MODEL), CHOICES, *more) for more in ((), (True,), (False,))}
    assert len(found) == 3


def test_parts_of_a_key_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that ends with what the next one starts with makes another key."""
    found = set()
    for kind, environment_ in (("ab", "c"), ("a", "bc")):
        monkeypatch.setattr(keys, "environment", lambda text=environment_: text)
        found.add(key(kind=kind).partition("-")[2])
    assert len(found) == 2


def test_metadata_and_texts_of_a_model_are_in_the_key() -> None:
    found = {key()}
    for changed in ("doc_string", "producer_name"):
        other = onnx.ModelProto()
        other.CopyFrom(MODEL)
        setattr(other, changed, "another")
        found.add(key(model=other))
    other.metadata_props.add(key="a", value="b")
    assert len(found | {key(model=other)}) == 4


def with_external_data(folder: Path, element: int) -> Path:
    path = folder / "model.onnx"
    # onnx appends to a file that is there.
    (folder / "w.bin").unlink(missing_ok=True)
    model = parse(
        "(float[n] x) => (float[n] z) { z = Mul(x, w) }", constants={"w": np.full(1, element, "f4")}
    )
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    return path


def test_bytes_of_external_data_are_in_the_key(tmp_path: Path) -> None:
    path = with_external_data(tmp_path, 1)
    first = key_of("report", read(path), CHOICES)
    assert key_of("report", read(path), CHOICES) == first
    content = path.read_bytes()
    with_external_data(tmp_path, 2)
    assert path.read_bytes() == content
    assert key_of("report", read(path), CHOICES) != first


def test_place_of_a_model_is_not_in_the_key(tmp_path: Path) -> None:
    found = set()
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        path = with_external_data(tmp_path / name, 1)
        found.add(key_of("report", read(path), CHOICES))
    assert len(found) == 1


def test_missing_external_data_makes_no_key(tmp_path: Path) -> None:
    path = with_external_data(tmp_path, 1)
    source = read(path)
    (tmp_path / "w.bin").unlink()
    with pytest.raises(NotKept):
        key_of("report", source, CHOICES)


def test_external_data_of_a_model_without_a_place_makes_no_key(tmp_path: Path) -> None:
    model = onnx.load(with_external_data(tmp_path, 1), load_external_data=False)
    with pytest.raises(NotKept):
        key(model=model)


def test_external_data_in_memory_beside_other_makes_no_key(tmp_path: Path) -> None:
    model = onnx.load(with_external_data(tmp_path, 1), load_external_data=False)
    held = model.graph.initializer.add()
    held.CopyFrom(model.graph.initializer[0])
    held.name = "held"
    for entry in held.external_data:
        entry.value = keys.IN_MEMORY if entry.key == "location" else entry.value
    with pytest.raises(NotKept):
        key_of("model", ReadModel(model, None, ""), CHOICES)
    del model.graph.initializer[0]
    assert key_of("model", ReadModel(model, None, ""), CHOICES)


@pytest.fixture
def _anew() -> Iterator[None]:
    """Forget what is known of the environment, before and after."""
    environment.cache_clear()
    yield
    environment.cache_clear()


@pytest.mark.usefixtures("_anew")
@pytest.mark.parametrize("package", ["numpy", "onnx", "onnx-ir", "onnxruntime", "protobuf"])
def test_version_of_a_package_is_in_the_key(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, version_of = key(), keys.version_of
    environment.cache_clear()
    monkeypatch.setattr(
        keys, "version_of", lambda name: "0.0.1" if name == package else version_of(name)
    )
    assert key() != before


@pytest.mark.usefixtures("_anew")
@pytest.mark.parametrize("part", ["_processor", "_library", "sources_digest"])
def test_machine_and_sources_are_in_the_key(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    environment.cache_clear()
    monkeypatch.setattr(keys, part, lambda: ["another"])
    assert key() != before


@pytest.mark.usefixtures("_anew")
def test_build_of_onnx_runtime_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    environment.cache_clear()
    monkeypatch.setattr(keys.onnxruntime, "get_build_info", lambda: "another")
    assert key() != before


def test_processor_is_known_by_its_instructions() -> None:
    assert any(keys._processor().values())


def test_each_package_that_computes_is_in_the_key() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[>=;]", each)[0] for each in project["dependencies"]}
    shown = {"rich", "typer"}
    assert needed - shown <= set(keys.PACKAGES)


def test_a_changed_file_of_the_package_changes_the_key(tmp_path: Path) -> None:
    copy = PackageCopy.in_folder(tmp_path)
    code = "from sonnx_ort.caching.keys import sources_digest\nprint(sources_digest())"
    found = [copy.run(code).stdout]
    places = (
        "sonnx_ort/facts/bounds.py",
        "custom_ops/arithmetic.py",
        "sonnx_ort/profile/texts/div_and_sub.toml",
    )
    for place in places:
        file = copy.path(place)
        file.write_bytes(file.read_bytes() + b"\n")
        found.append(copy.run(code).stdout)
    assert len(set(found)) == len(found), found
    assert all(len(each.strip()) == 64 for each in found)


def test_sources_are_those_of_the_package_and_of_its_kernels_and_nothing_compiled() -> None:
    names = [name for name, _ in keys._sources()]
    assert {"sonnx_ort/pipeline.py", "custom_ops/arithmetic.py"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]


def test_name_of_a_source_is_in_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"same")
    found = set()
    for name in ("sonnx_ort/a.py", "sonnx_ort/b.py"):
        monkeypatch.setattr(keys, "_sources", lambda name=name: [(name, tmp_path / "file")])
        found.add(keys.sources_digest())
    assert len(found) == 2
