"""The files of the suite, and what an engine makes of them, each case against what is right.

A suite is a model and data in the folders of ONNX's own tests, and a manifest.

    computed/div_float_vector/model.onnx
    computed/div_float_vector/test_data_set_0/input_0.pb, input_1.pb, output_0.pb
    refused/div_int_c1_broken/model.onnx, test_data_set_0/input_0.pb, input_1.pb
    manifest.json

Where several results are right, `output_0.pb` is the exact one, rounded once, `lowest_0.pb` and
`highest_0.pb` are the ends of the admitted interval of each element, and `any_0.pb`, if it is
there, says of which elements everything is admitted. ONNX's runner takes the folder `computed` as
it is.
"""

import enum
import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.text_files import parsed_json
from sonnx_ort.meaning import Enclosure, Result, Undefined
from sonnx_ort.meaning.results import Copies
from sonnx_ort.profile.graph import GRAPH
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.source import draft_of
from sonnx_ort.runs.isolated_run import Failed, IsolatedRuns
from sonnx_ort.runs.limits import LimitExceeded, Limits
from sonnx_ort.vectors import engines
from sonnx_ort.vectors.applied import Array
from sonnx_ort.vectors.cases import RULES_WITHOUT_CASES, UNBROKEN, Case
from sonnx_ort.vectors.documents import LEFT_OUT
from sonnx_ort.vectors.entries import described
from sonnx_ort.vectors.places import AGAIN, DAMAGES, Place, Put, filling, opened
from sonnx_ort.versions import VERSION

MANIFEST = "manifest.json"

_MODEL = "model.onnx"
_NOTES = """\
exact: each element has one right value; 'bits' compares bits, 'values' takes all NaNs for equal, \
and zeros of both signs where lowest_k.pb has -0 and highest_k.pb 0.
interval: each element is right from that of lowest_k.pb to that of highest_k.pb, and wherever \
any_k.pb is true; -0 lies below 0.
refused: no result is right; an error before or in the run is, by the rules that the case names.
rules of another kind: an error is right too, because of these rules of sonnx_ort.
"""

_TEMPLATE = {
    "test id": "id",
    "operator": "operator",
    "opset": "opset",
    "datatype(s)": "type; each file has its own",
    "input shapes": "shapes",
    "attributes": "attributes",
    "input values": "the files input_k.pb; what class and note do not decide is random, with seed",
    "oracle": "sonnx_ort.meaning, exact arithmetic, each element rounded once",
    "expected output": "the files output_k.pb",
    "comparison rule": "expectation: compare, or lowest_k.pb and highest_k.pb, bound and origin",
    "expected errors": "expectation: rules",
    "part of the specification covered": "document, section, tag and rule",
    "notes": "note",
}
"""Where the fields of the guidelines' template of a test case stand (tests-part1.md)."""


@dataclass(frozen=True)
class Written:
    """What was written of a suite.

    Attributes:
        cases: How many cases are written.
        left_out: How many of each operator are not, because only python-flint computes what is
            right of their models, and it is not installed.
    """

    cases: int
    left_out: Mapping[str, int]


def write(cases: Iterable[Case], folder: Path, seed: int) -> Written:
    """Write cases into a new or empty folder, or into an archive, by the end ".zip" of its name.

    Cases whose results need python-flint are left out without it. `seed` is that which the cases
    were made with, for the manifest.

    Raises:
        SonnxError: The folder is not empty, or cannot be written. Then nothing is left there.
    """
    given = [*cases]
    # All cases of such a model, so that what is written has the ids that it always has.
    omitted = {case.model for case in given if case.needs_flint}
    chosen = [case for case in given if case.refused or case.model not in omitted]
    left_out = Counter(case.applied.operator for case in given)
    left_out.subtract(case.applied.operator for case in chosen)
    left_out = +left_out
    with filling(folder) as put:
        writer = _Writer(put)
        entries = [writer.add(case) for case in chosen]
        head = {
            "suite": "SONNX conformance vectors",
            "version": VERSION,
            "seed": seed,
            "left_out": left_out,
            "rules_without_cases": RULES_WITHOUT_CASES,
            "rules_that_no_case_breaks": UNBROKEN,
            "examples_without_cases": [
                {"document": draft_of(operator).title, "section": place, "reason": reason}
                for (operator, place), reason in LEFT_OUT.items()
            ],
            "template": _TEMPLATE,
            "notes": _NOTES.splitlines(),
        }
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        text = json.dumps(head, indent=1, ensure_ascii=False)
        manifest = f'{text[:-2]},\n "cases": [\n{lines}\n]}}\n'
        put(MANIFEST, manifest.encode())
    return Written(len(entries), left_out)


class _Writer:
    """Writes cases, those of one model into one folder."""

    def __init__(self, put: Put) -> None:
        self._put = put
        self._models: dict[str, list[bytes]] = {}
        self._sets: dict[str, int] = {}

    def add(self, case: Case) -> Mapping[str, object]:
        """Write a case, and give its entry in the manifest."""
        name, content = self._model_of(case)
        number = self._sets[name] = self._sets.get(name, -1) + 1
        results = _results(case)
        files = {_MODEL: _digest(content)}

        def write(stem: str, array: Array, value: str) -> None:
            made = numpy_helper.from_array(array, value).SerializeToString(deterministic=True)
            self._put(f"{name}/test_data_set_{number}/{stem}.pb", made)
            files[f"{stem}.pb"] = _digest(made)

        for index, (value, array) in enumerate(case.applied.feeds.items()):
            write(f"input_{index}", array, value)
        for index, result in enumerate(results[: case.applied.results]):
            for stem, array in _files_of(result).items():
                write(f"{stem}_{index}", array, f"y{index}")
        return {"id": f"{name}/{number}", **described(case, results), "files": files}

    def _model_of(self, case: Case) -> tuple[str, bytes]:
        """The folder and the bytes of the model of a case, which is written if it is new."""
        name = f"{'refused' if case.refused else 'computed'}/{case.model}"
        content = case.applied.model().SerializeToString(deterministic=True)
        models = self._models.setdefault(name, [])
        if content not in models:
            models.append(content)
        place = models.index(content)
        name += f"_{place}" if place else ""
        if name not in self._sets:
            self._put(f"{name}/{_MODEL}", content)
        return name, content


def _results(case: Case) -> tuple[Result, ...]:
    """What is right of the results of a case; empty if it is to be refused.

    Raises:
        ValueError: The oracle does not say it.
    """
    if case.refused:
        return ()
    found = case.applied.meaning
    if not isinstance(found, Undefined):
        return found
    raise ValueError(f"a case of {case.applied.operator} has no result: {found.reason}")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _files_of(result: Result) -> dict[str, Array]:
    """The files of a result, by the beginning of their names."""
    files = {"output": result.nearest}
    if isinstance(result.admitted, Enclosure):
        if not result.is_single or result.has_either_zero:
            files |= {"lowest": result.admitted.lowest, "highest": result.admitted.highest}
        anything = result.admitted.anything | result.undefined
        if anything.any():
            files["any"] = anything
    return files


@dataclass(frozen=True)
class Vector:
    """A case as it is read from files.

    Attributes:
        feeds: The inputs by name.
        results: What is right of the results; empty if the case is to be refused.
    """

    entry: Mapping[str, Any]
    model: bytes
    feeds: Mapping[str, Array]
    results: tuple[Result, ...]

    @property
    def refused(self) -> bool:
        """Whether no result is right."""
        return bool(self.entry["expectation"]["kind"] == "refused")

    @property
    def may_be_refused(self) -> bool:
        """Whether an error is right."""
        return bool(self.entry["expectation"].get("rules"))


def vectors(folder: Path, operators: Collection[str] = ()) -> Iterator[Vector]:
    """Read the cases of a folder: of some operators, or all.

    All files are compared with the manifest first.

    Raises:
        SonnxError: The folder has no suite, or no case of an operator; or a file of it is missing
            or damaged.
    """
    with opened(folder) as place:
        entries = [
            each
            for each in _entries(folder, place)
            if not operators or each["operator"] in operators
        ]
        for name in operators:
            if name not in {each["operator"] for each in entries}:
                raise SonnxError(
                    f"'{folder}' has no case of an operator '{name}'; write a suite of it"
                )
        for entry in entries:
            for path, digest in _files(place, entry):
                _require_written(path, digest)
        for entry in entries:
            yield _read_vector(place, entry)


def _entries(folder: Path, place: Place) -> list[dict[str, Any]]:
    """The entries of the manifest of a suite.

    Raises:
        SonnxError: There is none, or it is damaged.
    """
    path = place / MANIFEST
    if not path.exists():
        raise SonnxError(
            f"'{folder}' has no suite: '{path}' is missing; `sonnx-ort suite -o FOLDER` writes one"
        )
    document = _document(path)
    try:
        entries: list[dict[str, Any]] = document["cases"]
        usable = bool(entries) and all(map(_is_usable, entries))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SonnxError(f"'{path}' is damaged: {error!r}; {AGAIN}") from error
    if not usable:
        raise SonnxError(f"'{path}' is damaged: it has no cases, or one that is none; {AGAIN}")
    return entries


def _document(path: Place) -> Any:
    """The manifest as it is read.

    Raises:
        SonnxError: It cannot be read, is too large, damaged, or no JSON.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror}; {AGAIN}") from error
    except (*DAMAGES, UnicodeDecodeError) as error:
        raise SonnxError(f"'{path}' is damaged: {error}; {AGAIN}") from error
    return parsed_json(text, f"'{path}'")


_ID = re.compile(r"(computed|refused)/\w+/\d+")
_FILE = re.compile(r"model\.onnx|(input|output|lowest|highest|any)_\d+\.pb")


def _is_usable(entry: Mapping[str, Any]) -> bool:
    """Whether a case has what is read of it, and names no file elsewhere.

    Raises:
        Exception: As whatever is missing gives.
    """
    Edition(entry["edition"])
    expectation = entry["expectation"]
    wanted = {_MODEL} if expectation["kind"] == "refused" else {_MODEL, "output_0.pb"}
    texts = (entry["operator"], *expectation.get("rules", ()), *entry["files"].values())
    return (
        _ID.fullmatch(entry["id"]) is not None
        and all(map(_FILE.fullmatch, entry["files"]))
        and wanted <= entry["files"].keys()
        and all(isinstance(each, str) for each in texts)
    )


def _files(folder: Place, entry: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """The files of a case, with their digests."""
    name, _, number = entry["id"].rpartition("/")
    for each, digest in entry["files"].items():
        inside = "" if each == _MODEL else f"test_data_set_{number}/"
        yield folder / f"{name}/{inside}{each}", digest


def _require_written(path: Place, digest: str) -> None:
    """Check that a file is what was written.

    Raises:
        SonnxError: It is missing, cannot be read, or is another one.
    """
    try:
        found = _digest(path.read_bytes())
    except FileNotFoundError as error:
        raise SonnxError(f"'{path}' is missing; {AGAIN}") from error
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror}; {AGAIN}") from error
    except DAMAGES as error:
        raise SonnxError(f"'{path}' is damaged: {error}; {AGAIN}") from error
    if found != digest:
        raise SonnxError(f"'{path}' is damaged: it is not what the manifest names; {AGAIN}")


def _read_vector(folder: Place, entry: Mapping[str, Any]) -> Vector:
    paths = [path for path, _ in _files(folder, entry)]

    def tensors(stem: str) -> dict[int, tuple[str, Array]]:
        found = {}
        for path in paths:
            beginning, _, number = path.stem.rpartition("_")
            if beginning == stem:
                found[int(number)] = _tensor(path)
        return dict(sorted(found.items()))

    bits = entry["expectation"].get("compare") == "bits"
    lowest, highest, anything = map(tensors, ("lowest", "highest", "any"))
    results = []
    for k, (_, nearest) in tensors("output").items():
        nothing = np.zeros(nearest.shape, np.bool_)
        low, high = (each.get(k, ("", nearest))[1] for each in (lowest, highest))
        enclosure = Enclosure(low, high, anything.get(k, ("", nothing))[1])
        results.append(Result(nearest, Copies(nearest) if bits else enclosure, nothing))
    feeds = dict(tensors("input").values())
    (model,) = (path for path in paths if path.name == _MODEL)
    return Vector(entry, model.read_bytes(), feeds, tuple(results))


def _tensor(path: Place) -> tuple[str, Array]:
    """The name and the elements of a tensor, which it has in itself.

    Raises:
        SonnxError: It is none, or names a file for its elements.
    """
    try:
        tensor = onnx.TensorProto.FromString(path.read_bytes())
        elsewhere = tensor.data_location == onnx.TensorProto.EXTERNAL
        elements = np.empty(0) if elsewhere else numpy_helper.to_array(tensor)
    except (DecodeError, KeyError, TypeError, ValueError) as error:
        raise SonnxError(f"'{path}' is no tensor: {error}; {AGAIN}") from error
    if elsewhere:
        raise SonnxError(f"'{path}' has its elements in another file; {AGAIN}")
    return tensor.name, elements


class Outcome(enum.StrEnum):
    """What an engine makes of a case."""

    CONFORMS = "conforms"
    """It gives what is right, or refuses what it should."""

    DEVIATES = "deviates"
    """It gives something that is not right."""

    COMPUTES = "computes what it should refuse"
    REFUSES = "refuses what it should compute"
    """It gives an error, such as for a type that it has no kernel of."""

    DIES = "dies"
    """The process ends, or the run does not."""


SECONDS = 30
"""After how many seconds a run counts as one that does not end, if nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with what an engine made of it.

    Attributes:
        outcome: What the engine made of it.
        reason: How, in words; empty if it is right.
        units: How many representable numbers the worst element is beyond the nearest one; None if
            there is no distance, as of NaN.
        origin: Where the admitted interval comes from; empty of cases without one.
    """

    id: str
    operator: str
    outcome: Outcome
    reason: str = ""
    units: int | None = None
    origin: tuple[str, ...] = ()


def run(
    folder: Path,
    engine: str,
    operators: Collection[str] = (),
    limits: Limits = Limits(SECONDS),  # noqa: B008 - it cannot change
) -> Iterator[Judged]:
    """Run an engine on the cases of a folder, in a process that it may end.

    The folder is what `sonnx-ort suite -o` wrote; without operators all of its cases are run. A run
    beyond the limits counts as one that dies.

    Raises:
        SonnxError: The folder has no suite, or a file of it is missing or damaged, or the engine
            cannot be started.
    """
    with IsolatedRuns(limits) as runs:
        for number, vector in enumerate(vectors(folder, operators)):
            on_graphs = vector.entry["operator"] == GRAPH
            operators = engines.GRAPHS if on_graphs else engines.NODES
            held = engine, Edition(vector.entry["edition"]), operators
            if not number:
                failed = runs.call(engines.start, *held)
                if isinstance(failed, Failed):
                    raise SonnxError(failed.reason)
            yield judge(vector, _outcome(runs, *held, vector))


def _outcome(
    runs: IsolatedRuns, engine: str, edition: Edition, operators: str, vector: Vector
) -> list[Array] | str | Failed:
    """What an engine gives of a case, or why it gives nothing."""
    held = engine, edition, operators
    try:
        return runs.call(engines.outcome, *held, vector.model, vector.feeds)
    except LimitExceeded as error:
        return Failed(str(error))


def judge(vector: Vector, outcome: list[Array] | str | Failed) -> Judged:
    """Hold the outcome of a case to what is right."""
    made, reason, units = Outcome.CONFORMS, "", None
    match outcome:
        case Failed():
            made, reason = Outcome.DIES, outcome.reason
        case str() if not vector.may_be_refused:
            made, reason = Outcome.REFUSES, outcome
        case list() if vector.refused:
            rules = ", ".join(vector.entry["expectation"]["rules"])
            found = (f"{x.dtype} {x.shape} {x.ravel()[:4].tolist()}" for x in outcome)
            made, reason = Outcome.COMPUTES, f"{rules}: {'; '.join(found)}"
        case list() if wrong := _first_wrong(vector.results, outcome):
            made = Outcome.DEVIATES
            reason, units = wrong
    origin = tuple(vector.entry["expectation"].get("origin", ()))
    return Judged(vector.entry["id"], vector.entry["operator"], made, reason, units, origin)


def _first_wrong(
    results: Sequence[Result], outcome: Sequence[Array]
) -> tuple[str, int | None] | None:
    for result, found in zip(results, outcome, strict=False):
        wrong = _wrong(result, found)
        if wrong is not None:
            return wrong
    missing = len(outcome) < len(results)
    return (f"{len(outcome)} results, not {len(results)}", None) if missing else None


def _wrong(result: Result, found: Array) -> tuple[str, int | None] | None:
    """What is wrong with a result, and by how much."""
    try:
        outside = np.atleast_1d(result.outside(found))
    except ValueError as error:
        return str(error), None
    if not outside.any():
        return None
    units = np.atleast_1d(result.units(found))
    distant = outside & (units < 0)
    place = int(np.argmax(np.where(outside, distant * 2.0**70 + units.astype(float), -1)))
    size = int(units.ravel()[place])
    got, nearest = (each.ravel()[place] for each in (found, result.nearest))
    reason = f"{np.count_nonzero(outside)} of {found.size}: {got} for {nearest} at {place}"
    return reason, None if size < 0 else size
