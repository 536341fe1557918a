"""`self_check` finds a fault in each part of an installation, and names it."""

import base64
import hashlib
import importlib.util
import json
import marshal
import py_compile
import re
import shutil
import sys
from dataclasses import replace
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path
from types import FunctionType

import pytest

import sonnx_ort
from sonnx_ort import models, versions
from sonnx_ort.backends import Backend
from sonnx_ort.custom_ops.compiled import library as compiled_library
from sonnx_ort.errors import BackendUnavailable
from sonnx_ort.installation import self_checking
from sonnx_ort.installation.demonstration import Row, Verdict, run_case
from sonnx_ort.installation.self_checking import Check, Outcome, SelfCheck
from sonnx_ort.models import Example, Outputs
from sonnx_ort.runs.isolated_run import Failed, IsolatedRuns
from support.child import ChildResult, run_python
from support.package_copy import REPOSITORY, PackageCopy

PASSED, FAILED, NOT_CHECKED = Outcome

EXAMPLE = models.example("div_example_1_float32")
SOME = (EXAMPLE, models.example("div_int32"), models.example("arg_max_float"))


def with_examples(monkeypatch: pytest.MonkeyPatch, *examples: Example) -> None:
    monkeypatch.setattr(models, "examples", lambda: examples)


def cases() -> Check:
    with IsolatedRuns() as runs:
        return self_checking._check_cases("cases", runs, Backend.PYTHON)


def failed(result: SelfCheck) -> list[Check]:
    return [check for check in result.checks if check.outcome is FAILED]


@pytest.fixture(scope="module")
def here() -> SelfCheck:
    """The check of this installation, with some of the bundled models."""
    with pytest.MonkeyPatch.context() as patch:
        with_examples(patch, *SOME)
        return sonnx_ort.self_check()


def test_this_installation_passes(here: SelfCheck) -> None:
    assert failed(here) == []
    assert here.ok
    assert {check.name for check in here.checks} >= {
        "version of onnxruntime", "optimizers, python backend", "optimizers, native backend",
        "bundled models, python backend", "bundled models, native backend", "installed files",
    }  # fmt: skip


@pytest.mark.thorough
def test_every_bundled_model_passes() -> None:
    number = sum(len(example.cases) for example in models.examples())
    result = sonnx_ort.self_check()
    assert failed(result) == []
    assert [check.detail for check in result.checks if "bundled" in check.name] == [
        f"{number} of {number} cases give the expected result"
    ] * len(Backend)


def test_json_has_a_stated_format(here: SelfCheck) -> None:
    document = json.loads(here.to_json())
    assert document["format"] == "sonnx_ort.self_check/1"
    assert document["ok"] is True
    assert document["versions"]["sonnx_ort"] == sonnx_ort.__version__
    assert all(c.keys() == {"name", "outcome", "detail", "faults"} for c in document["checks"])


@pytest.mark.parametrize("place", [0, 1], ids=["requirements.lowest.lock", "requirements.lock"])
def test_versions_tried_are_those_of_the_lock_files(place: int) -> None:
    lock = ("requirements.lowest.lock", "requirements.lock")[place]
    text = (REPOSITORY / lock).read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([a-z-]+)==([\d.]+)", text, re.MULTILINE))
    packages = versions.TRIED.keys() - {"Python", "onnxruntime-extensions"}
    assert {name: versions.TRIED[name][place] for name in packages} == {
        name: pinned[name.replace("_", "-")] for name in packages
    }
    # This one is another on Windows.
    extensions = re.findall(r"^onnxruntime-extensions==([\d.]+)", text, re.MULTILINE)
    assert versions.TRIED["onnxruntime-extensions"][place] == max(extensions)


@pytest.mark.parametrize(("package", "version", "outcome", "detail"), [
    ("numpy", "2.1.3", PASSED, "2.1.3 is between 2.1.3 and 2.4.6"),
    ("numpy", "2.4.6+vendor", PASSED, "2.4.6+vendor is between 2.1.3 and 2.4.6"),
    ("numpy", "2.1", FAILED, "2.1 is older than 2.1.3, the oldest supported version"),
    ("numpy", "2.10.0", NOT_CHECKED,
     "2.10.0 is newer than 2.4.6, the newest that the tests run with"),
    ("numpy", "2.4.0rc1", NOT_CHECKED, "2.4.0rc1 is no release"),
    ("onnxruntime", "", FAILED, "onnxruntime is not installed"),
    ("Python", "3.13.7", PASSED, "3.13.7 is between 3.11 and 3.14"),
    ("Python", "3.14.2", PASSED, "3.14.2 is between 3.11 and 3.14"),
    ("python-flint", "0.8.0", PASSED, "0.8.0 is between 0.8.0 and 0.9.0"),
    ("sympy", "1.13.3", NOT_CHECKED,
     "1.13.3 is older than 1.14.0, the oldest that the tests run with"),
    ("protobuf", "", FAILED, "protobuf is not installed"),
    ("python-flint", "", NOT_CHECKED,
     "python-flint is not installed, so that audits do not know functions such as Exp"),
    ("onnxruntime-extensions", "", NOT_CHECKED,
     "onnxruntime-extensions is not installed, and not needed"),
])  # fmt: skip
def test_version(package: str, version: str, outcome: Outcome, detail: str) -> None:
    assert self_checking._check_version(package, version) == Check(
        f"version of {package}", outcome, detail
    )


def test_version_that_is_too_old_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    with_examples(monkeypatch)
    monkeypatch.setattr(IsolatedRuns, "call", lambda *_: None)
    monkeypatch.setattr(versions, "version_of", lambda _: "1.0")
    result = sonnx_ort.self_check()
    assert not result.ok
    assert "version of onnxruntime" in {check.name for check in failed(result)}


@pytest.mark.parametrize(("outcomes", "ok"), [
    ((PASSED, FAILED), False), ((NOT_CHECKED,), True), ((PASSED, NOT_CHECKED), True), ((), True),
])  # fmt: skip
def test_installation_is_in_order_unless_a_check_failed(
    outcomes: tuple[Outcome, ...], *, ok: bool
) -> None:
    checks = tuple(Check("it", outcome, "") for outcome in outcomes)
    assert SelfCheck({}, "", "", (), checks).ok is ok


def test_each_backend_is_checked_or_named_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(name: str, *given: object) -> Check:
        return Check(name, PASSED, str(given[-1]))

    def missing(backend: Backend) -> Check | None:
        return Check("it", NOT_CHECKED, "") if backend is Backend.NATIVE else None

    monkeypatch.setattr(self_checking, "_optimizers", check)
    monkeypatch.setattr(self_checking, "_check_cases", check)
    monkeypatch.setattr(self_checking, "_missing_kernels", missing)
    monkeypatch.setattr(self_checking, "_installed_files", lambda _: check("files", ""))
    found = sonnx_ort.self_check().checks[len(versions.TRIED) :]
    assert [(each.name, each.detail) for each in found] == [
        ("optimizers, python backend", "python"),
        ("bundled models, python backend", "python"),
        ("it", ""),
        ("optimizers, compiled backend", "compiled"),
        ("bundled models, compiled backend", "compiled"),
        ("files", ""),
    ]


def test_instructions_are_those_of_the_processor_that_choose_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = tmp_path / "cpuinfo"
    processor.write_text("flags : fpu avx2 i8mm avx512fp16", encoding="utf-8")
    monkeypatch.setattr(self_checking, "_PROCESSOR", processor)
    assert [*self_checking._processor_flags()] == ["avx2", "i8mm"]
    processor.unlink()
    assert [*self_checking._processor_flags()] == []


@pytest.mark.parametrize("backend", list(Backend))
def test_cases_run_on_the_chosen_backend(monkeypatch: pytest.MonkeyPatch, backend: Backend) -> None:
    """Errors without shapes are counted, and faulty ones are named nevertheless."""
    chosen = []
    rows = iter([(Verdict.KEPT, True), (Verdict.KEPT, False), (Verdict.FAILED, True)])

    def call(_: IsolatedRuns, function: object, example: Example, *given: object) -> Row:
        chosen.append((function, *given[1:]))
        verdict, short = next(rows)
        return Row(example.name, "it", "", "1", "2", verdict, short)

    three = replace(EXAMPLE, cases=EXAMPLE.cases[:1] * 3)
    with_examples(monkeypatch, three)
    monkeypatch.setattr(IsolatedRuns, "call", call)
    with IsolatedRuns() as runs:
        found = self_checking._check_cases("cases", runs, backend)
    assert chosen == [(run_case, backend)] * 3
    assert found == Check(
        "cases",
        FAILED,
        "2 of 3 cases give the expected result, 2 without the shapes and values that the python "
        "backend adds",
        ("div_example_1_float32, it: 2; expected 1",),
    )


def test_case_that_gives_something_else_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    case, *others = EXAMPLE.cases
    assert isinstance(case.expected, Outputs)
    wrong = replace(case, expected=Outputs({"C": case.expected.values["C"] + 1}))
    with_examples(monkeypatch, replace(EXAMPLE, cases=(wrong, *others)))
    found = cases()
    number = len(EXAMPLE.cases)
    assert (found.outcome, found.detail) == (
        FAILED,
        f"{number - 1} of {number} cases give the expected result",
    )
    assert found.faults == (
        "div_example_1_float32, typed: C[0] = 2, not 3; expected C = [3, 4, 8]",
    )


def test_case_that_ends_the_process_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with_examples(monkeypatch, EXAMPLE)
    death = Failed("the process is killed by SIGSEGV")
    monkeypatch.setattr(IsolatedRuns, "call", lambda *_: death)
    found, number = cases(), len(EXAMPLE.cases)
    assert found.faults[0] == (
        "div_example_1_float32, typed: the process is killed by SIGSEGV; expected C = [2, 3, 7]"
    )
    assert len(found.faults) == number
    assert found.detail == f"0 of {number} cases give the expected result"


def test_damaged_manifest_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "examples", lambda: {}["version"])
    assert cases() == Check("cases", FAILED, "the manifest cannot be read: KeyError: 'version'")


def test_no_case_at_all_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with_examples(monkeypatch)
    assert cases() == Check("cases", FAILED, "0 of 0 cases give the expected result")


@pytest.mark.parametrize(("backend", "place", "name"), [
    (Backend.PYTHON, "ort/disabled_optimizers.py", "ReshapeFusion"),
    (Backend.NATIVE, "ort/disabled_optimizers.py", "NoopElimination"),
    (Backend.PYTHON, "ort/canaries.py", "ConvMulFusion"),
])  # fmt: skip
def test_optimizer_that_acts_nevertheless_is_named(
    tmp_path: Path, backend: Backend, place: str, name: str
) -> None:
    """Each name that is misspelled switches nothing off."""
    copy = PackageCopy.in_folder(tmp_path)
    for file in (place, "facts/optimizers.py", "ort/effects.py"):
        path = copy.path(f"sonnx_ort/{file}")
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f'"{name}"', f'"{name}s"'), encoding="utf-8")
    done = copy.run(
        "from sonnx_ort.installation import self_checking\n"
        "from sonnx_ort.runs.isolated_run import IsolatedRuns\n"
        "from sonnx_ort.options import Backend\n"
        "with IsolatedRuns() as runs:\n"
        f"    found = self_checking._optimizers('it', runs, Backend('{backend}'))\n"
        "print(found.outcome, found.detail)"
    )
    assert done.stdout.startswith("failed ONNX Runtime "), done
    assert f"although its graph optimizer {name}s is switched off" in done.stdout


def record_of(folder: Path) -> Distribution:
    """An installed package of the files in a folder, and a command, which an installer writes."""
    rows = ["../../bin/it,sha256=AAAA,1", "/usr/bin/it,sha256=AAAA,1", "it.dist-info/RECORD,,"]
    for file in sorted(folder.rglob("*.py")):
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
        name = file.relative_to(folder).as_posix()
        rows.append(f"{name},sha256={digest.decode().rstrip('=')},{file.stat().st_size}")
    (folder / "it.dist-info").mkdir()
    (folder / "it.dist-info" / "RECORD").write_text("\n".join(rows), encoding="utf-8")
    return PathDistribution(folder / "it.dist-info")


@pytest.mark.parametrize(("library", "outcome", "detail"), [
    (None, Outcome.NOT_CHECKED, "because its kernels are not there"),
    (b"cut", Outcome.FAILED, "are not those that the installation built"),
], ids=["no library", "another library"])  # fmt: skip
def test_compiled_kernels_are_looked_at_first(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    library: bytes | None,
    outcome: Outcome,
    detail: str,
) -> None:
    path = tmp_path / "kernels.so"
    if library is not None:
        path.write_bytes(library)
    for module in (compiled_library, self_checking):
        monkeypatch.setattr(module, "LIBRARY", path)
    found = self_checking._missing_kernels(Backend.COMPILED)
    assert found is not None
    assert (found.name, found.outcome) == ("compiled backend", outcome)
    assert detail in found.detail


def test_kernels_of_another_backend_are_not_damaged_where_the_library_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Backend) -> None:
        raise BackendUnavailable("it is not installed")

    library = tmp_path / "kernels.so"
    library.touch()
    monkeypatch.setattr(self_checking, "LIBRARY", library)
    monkeypatch.setattr(self_checking, "require_runnable", refuse)
    assert self_checking._missing_kernels(Backend.PYTHON) == Check(
        "python backend", NOT_CHECKED, "it is not installed"
    )


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package, in the place of the running one."""
    package = tmp_path.resolve() / "it"
    (package / "__pycache__").mkdir(parents=True)
    for name in ("versions.py", "changed.py", "lost.py"):
        (package / name).write_text(name, encoding="utf-8")
    for level in (0, 1, 2):
        py_compile.compile(str(package / "versions.py"), optimize=level)
    (package / "__pycache__" / "versions.cpython-310.pyc").touch()
    installed = record_of(package.parent)
    monkeypatch.setattr(self_checking, "distribution", lambda _: installed)
    monkeypatch.setattr(versions, "__file__", str(package / "versions.py"))
    # Another process takes a second, and is not needed for files that were made here.
    monkeypatch.setattr(IsolatedRuns, "call", lambda _, function, *given: function(*given))
    return package


def files() -> Check:
    with IsolatedRuns() as runs:
        return self_checking._installed_files(runs)


@pytest.mark.usefixtures("package")
def test_files_of_the_wheel_pass() -> None:
    assert files() == Check(
        "installed files", PASSED, "3 files are recorded; 0 differ, are missing or were added"
    )


def test_changed_missing_and_added_files_are_named(package: Path) -> None:
    (package / "changed.py").write_text("other", encoding="utf-8")
    (package / "lost.py").unlink()
    (package / "added.py").touch()
    assert files() == Check(
        "installed files",
        FAILED,
        "3 files are recorded; 3 differ, are missing or were added",
        (
            f"'{package / 'changed.py'}' is not that of the wheel",
            f"'{package / 'lost.py'}' is missing",
            f"'{package / 'added.py'}' is not in the RECORD",
        ),
    )


def compiled(package: Path, text: str, *, name: str = "changed", optimization: str = "") -> Path:
    """Put the code of a text in the place of that of a source, whose size and time it has."""
    source = package / f"{name}.py"
    place = Path(importlib.util.cache_from_source(str(source), optimization=optimization))
    py_compile.compile(str(source), str(place), optimize=int(optimization or 0))
    code = marshal.dumps(compile(text, "another folder", "exec", dont_inherit=True))
    place.write_bytes(place.read_bytes()[:16] + code)
    return place


@pytest.mark.parametrize("name", ["changed", "versions"])
@pytest.mark.parametrize("optimization", ["", "1", "2"])
@pytest.mark.parametrize("text", ["changed.other", "changed.py, 0", "lambda: changed.py"])
def test_compiled_file_of_other_code_is_named(
    package: Path, text: str, optimization: str, name: str
) -> None:
    place = compiled(package, text, name=name, optimization=optimization)
    assert files().faults == (
        f"'{place}' is not what its source compiles to; delete it, and Python compiles it anew",
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0", "False"),
        ("0.0", "-0.0"),
        ("1", "1.0"),
        ("x in {1, 2}", "x in {1, 3}"),
        ("(1, 'a')", "(1, b'a')"),
    ],
)
def test_constants_are_compared_with_their_types(package: Path, one: str, other: str) -> None:
    (package / "numbers.py").write_text(f"x = {one}", encoding="utf-8")
    place = compiled(package, f"x = {other}", name="numbers")
    assert self_checking.wrongly_compiled([(place, 0, package / "numbers.py")]) == [place]


@pytest.mark.parametrize("level", [0, 1, 2])
def test_code_is_compared_with_that_of_its_level(package: Path, level: int) -> None:
    source = package / "asserting.py"
    source.write_text('"""It asserts."""\nassert x\n', encoding="utf-8")
    place = py_compile.compile(str(source), optimize=level)
    found = [
        self_checking.wrongly_compiled([(Path(place), other, source)]) == [] for other in (0, 1, 2)
    ]
    assert found == [other == level for other in (0, 1, 2)]


def test_hash_that_is_cut_off_in_the_record_is_no_hash(package: Path) -> None:
    record = package.parent / "it.dist-info" / "RECORD"
    text = record.read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("it/lost.py,"))
    digest = row.split(",")[1]
    record.write_text(text.replace(digest, digest[:20]), encoding="utf-8")
    assert files().faults == (f"'{package / 'lost.py'}' is not that of the wheel",)


@pytest.mark.parametrize(("one", "other"), [
    (0, False), (1, 1.0), (0.0, -0.0), ("a", b"a"), ((1,), (1, 2)), ((1, (0.0,)), (1, (-0.0,))),
    (frozenset({1, 2}), frozenset({1, 3})), (frozenset({1}), frozenset({1.0})),
])  # fmt: skip
def test_constants_that_are_equal_at_most_are_not_the_same(one: object, other: object) -> None:
    assert self_checking._is_same(one, one)
    assert not self_checking._is_same(one, other)
    assert not self_checking._is_same(other, one)


def parts(function: FunctionType) -> dict[str, object]:
    """For each part of the code of a function another one."""
    code = function.__code__
    return {
        "argcount": 1, "cellvars": ("y",), "code": bytes(len(code.co_code)), "consts": (None, 7),
        "exceptiontable": b"other", "firstlineno": 0, "flags": code.co_flags ^ 32,
        "freevars": ("z",), "kwonlyargcount": 0, "linetable": b"", "name": "other",
        "names": ("other",), "posonlyargcount": 0, "qualname": "other",
        "stacksize": code.co_stacksize + 1, "varnames": ("x", "other", "more"),
    }  # fmt: skip


def taking(x: int, /, other: int, *, last: int) -> int:
    return x + other + last + len(REPOSITORY.name)


@pytest.mark.parametrize("name", parts(taking))
def test_code_that_differs_in_one_part_is_not_the_same(name: str) -> None:
    code = taking.__code__
    changed = code.replace(**{f"co_{name}": parts(taking)[name]})  # type: ignore[arg-type]
    assert self_checking._is_same(code, code.replace(co_filename="another"))
    assert not self_checking._is_same(code, changed)


def test_code_that_another_folder_compiled_is_the_same(package: Path) -> None:
    compiled(package, "changed.py")
    assert files().outcome is PASSED


@pytest.mark.parametrize("content", [b"", b"short", bytes(64)], ids=["empty", "short", "zeros"])
def test_damaged_compiled_file_is_named(package: Path, content: bytes) -> None:
    place = compiled(package, "changed.py")
    place.write_bytes(content)
    assert [fault.partition(" is not")[0] for fault in files().faults] == [f"'{place}'"]


@pytest.mark.parametrize("name", [
    "__pycache__/versions.pyc",
    "__pycache__/added.cpython-310.pyc",
    "__pycache__/versions.so",
    "__pycache__/versions.cpython-310.so",
    f"__pycache__/versions.{sys.implementation.cache_tag}.opt-3.pyc",
    "another/versions.cpython-310.pyc",
])  # fmt: skip
def test_further_file_beside_compiled_ones_is_named(package: Path, name: str) -> None:
    place = package / name
    place.parent.mkdir(exist_ok=True)
    place.touch()
    assert files().faults == (f"'{place}' is not in the RECORD",)


def test_compiled_files_of_another_folder_are_compared_too(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.pycache_prefix", str(tmp_path / "cache"))
    place = compiled(package, "changed.other")
    assert place.is_relative_to(tmp_path / "cache")
    assert [fault.partition(" is not")[0] for fault in files().faults] == [f"'{place}'"]


@pytest.mark.usefixtures("package")
def test_compiled_file_that_ends_the_process_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    death = Failed("it is killed by SIGSEGV")
    monkeypatch.setattr(IsolatedRuns, "call", lambda *_: death)
    assert files().faults == (
        "the compiled files cannot be compared with their sources: it is killed by SIGSEGV",
    )


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("installed", [True, False])
def test_clone_is_not_checked_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    clone = tmp_path.resolve() / "clone"
    monkeypatch.setattr(versions, "__file__", str(clone / "versions.py"))
    if not installed:
        monkeypatch.setattr(self_checking, "distribution", Distribution.from_name)
        monkeypatch.setattr(Distribution, "discover", lambda **_: iter(()))
    assert files() == Check(
        "installed files",
        NOT_CHECKED,
        f"no RECORD describes '{clone}': it is a clone or an editable installation",
    )


def installed_files(folder: Path) -> ChildResult:
    return run_python(
        f"import sys\nsys.path.insert(0, {str(folder)!r})\n"
        "from sonnx_ort.installation import self_checking\n"
        "from sonnx_ort.runs.isolated_run import IsolatedRuns\n"
        "with IsolatedRuns() as runs:\n"
        "    print(self_checking._installed_files(runs))",
        fresh=True,
    )


@pytest.mark.thorough
def test_wheel_has_a_record_of_all_its_files_and_two_that_change_differ(
    wheel: Path, tmp_path: Path
) -> None:
    shutil.unpack_archive(wheel, tmp_path, "zip")
    with (tmp_path / "sonnx_ort" / "meaning" / "layout.py").open("a", encoding="utf-8") as file:
        file.write("\n")
    place = compiled(tmp_path / "sonnx_ort" / "reporting", "0", name="viewers")
    done = installed_files(tmp_path)
    assert "; 2 differ, are missing or were added" in done.stdout, done
    assert "layout.py' is not that of the wheel" in done.stdout, done
    assert f"{place.name}' is not what its source compiles to" in done.stdout, done


def test_version_of_a_package_that_is_not_there_is_empty() -> None:
    assert versions.version_of("no-package-has-this-name") == ""


def test_version_of_this_package_is_that_of_the_code_not_of_an_installation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    versions.version_of.cache_clear()
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.0.1")
    assert versions.version_of("sonnx_ort") == sonnx_ort.__version__
