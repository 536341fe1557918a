"""`--cache`: what commands print and write is the same, and computed once."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from sonnx_ort import models
from sonnx_ort.caching.folder import Folder
from support.command import command, output, refusal
from support.graphs import parse
from support.waivers import unequal

MODELS = ("digits", "div_zero_divisor", "normalization_broadcast", "sub_int32")

FORMATS = {
    "text": (),
    "verbose": ("--verbose",),
    "statistics": ("--statistics",),
    "JSON": ("--format", "json"),
    "SARIF": ("--format", "sarif"),
    "HTML": ("--format", "html"),
    "rules": ("--rules", "stated", "--ignore", "Graph", "--fail-on", "runtime"),
    "explicit": ("--broadcast", "explicit", "--operators", "elementwise"),
    "preliminary": ("--edition", "preliminary", "--backend", "native", "--no-forecast"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    text = "(float[n] x, float[m] y) => (float[n] z) { [quotient] z = Div(x, y) }"
    onnx.save(parse(text), tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def only_file(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def forge(cache: Path, old: bytes, new: bytes) -> None:
    """Change what was kept, as whoever can write the folder can do."""
    file = only_file(cache)
    content = file.read_bytes().split(b"\n", 1)[1]
    assert old in content
    Folder(cache).keep(file.name, content.replace(old, new))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("chosen", FORMATS)
def test_check_prints_the_same_with_a_cache_and_out_of_it(
    name: str, chosen: str, folder: Path
) -> None:
    given = ("check", models.path(name), *FORMATS[chosen])
    plain = command(*given)
    for _ in range(2):
        done = command(*given, "--cache", folder / "cache")
        assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr)
        # The command to type next repeats the options.
        assert done.stdout.replace(f" --cache {folder}/cache", "") == plain.stdout


def test_second_check_reads_what_the_first_one_kept(folder: Path) -> None:
    given = ("check", "model.onnx", "--verbose", "--cache", "cache")
    output(*given)
    forge(folder / "cache", b"quotient", b"forgery")
    assert "Div 'forgery'" in output(*given)


def test_annotated_model_is_made_of_what_was_kept(folder: Path) -> None:
    given = ("check", "model.onnx", "--cache", "cache", "--annotate")
    output(*given, "one.onnx")
    output(*given, "other.onnx")
    assert (folder / "one.onnx").read_bytes() == (folder / "other.onnx").read_bytes()


@pytest.mark.parametrize("option", ["--record"])
def test_record_takes_nothing_from_the_cache(folder: Path, option: str) -> None:
    output("check", "model.onnx", "--cache", "cache")
    forge(folder / "cache", b"quotient", b"forgery")
    output("check", "model.onnx", "--cache", "cache", option, "record.json")
    assert "forgery" not in (folder / "record.json").read_text(encoding="utf-8")


def test_models_that_are_checked_in_parallel_share_a_cache(folder: Path) -> None:
    (folder / "models").mkdir()
    for number in range(3):
        text = f"(float[n] x, float[n] y) => (float[n] z{number}) {{ z{number} = Div(x, y) }}"
        onnx.save(parse(text), folder / "models" / f"{number}.onnx")
    given = ("check", "models", "--cache", "cache", "--format", "json", "--jobs", "2")
    first = output(*given)
    assert len(list((folder / "cache").iterdir())) == 3
    assert output(*given) == first


REWRITES = {
    "default": ("--operators", "default"),
    "native": ("--backend", "native"),
    "explicit": ("--broadcast", "explicit", "--backend", "python"),
    "conform": ("--conform", "--make-explicit"),
}


@pytest.mark.parametrize("chosen", REWRITES)
def test_rewrite_writes_the_same_with_a_cache_and_out_of_it(folder: Path, chosen: str) -> None:
    written, shown = set(), set()
    for given in ((), ("--cache", "cache"), ("--cache", "cache")):
        done = command("rewrite", "model.onnx", "-o", "enforced.onnx", *REWRITES[chosen], *given)
        assert done.returncode == 0
        written.add((folder / "enforced.onnx").read_bytes())
        shown.add(done.stdout.replace(" --cache cache", "") + done.stderr)
    assert (len(written), len(shown)) == (1, 1)
    assert only_file(folder / "cache").name.startswith("model-")


def test_second_rewrite_reads_what_the_first_one_kept(folder: Path) -> None:
    given = ("rewrite", "model.onnx", "-o", "enforced.onnx", "--cache", "cache")
    output(*given)
    forge(folder / "cache", b"quotient", b"forgery!")
    command(*given)
    assert b"forgery!" in (folder / "enforced.onnx").read_bytes()


@pytest.mark.parametrize("option", ["--record", "--certificate"])
def test_evidence_of_a_rewriting_takes_nothing_from_the_cache(folder: Path, option: str) -> None:
    given = ("rewrite", "model.onnx", "-o", "enforced.onnx", "--backend", "native")
    output(*given, "--cache", "cache")
    forge(folder / "cache", b"quotient", b"forgery!")
    output(*given, "--cache", "cache", option, "beside.json")
    assert b"forgery!" not in (folder / "enforced.onnx").read_bytes()
    json.loads((folder / "beside.json").read_text(encoding="utf-8"))


def test_external_data_is_copied_beside_a_model_from_the_cache(folder: Path) -> None:
    constants = {"w": np.array([1, 2], np.float32)}
    model = parse("(float[2] x) => (float[2] z) { z = Div(x, w) }", constants=constants)
    onnx.save(model, "model.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    for name in ("one", "other"):
        (folder / name).mkdir()
        given = ("-o", f"{name}/enforced.onnx", "--operators", "default", "--cache", "cache")
        output("rewrite", "model.onnx", *given)
        assert (folder / name / "w.bin").read_bytes() == (folder / "w.bin").read_bytes()


def test_run_shows_the_same_with_a_cache_and_out_of_it(folder: Path) -> None:
    given = ("run", "model.onnx", "--input-shape", "x=3", "--input-shape", "y=3", "--seed", "1")
    plain = output(*given)
    for _ in range(2):
        shown = output(*given, "--cache", "cache")
        assert shown.replace(" --cache cache", "") == plain
    assert only_file(folder / "cache").name.startswith("model-")


def test_rejected_model_is_rejected_again(folder: Path) -> None:
    onnx.save(unequal(), folder / "unequal.onnx")
    given = ("rewrite", "unequal.onnx", "-o", "enforced.onnx")
    plain = command(*given)
    assert plain.returncode == 1
    for _ in range(2):
        done = command(*given, "--cache", folder / "cache")
        said = done.stderr.replace(f" --cache {folder}/cache", "")
        assert (done.returncode, done.stdout, said) == (1, plain.stdout, plain.stderr)


@pytest.mark.parametrize("name", ["check", "rewrite", "run"])
def test_file_in_place_of_the_folder_is_refused(folder: Path, name: str) -> None:
    (folder / "cache").write_text("", encoding="utf-8")
    needed = ("-o", "enforced.onnx") if name == "rewrite" else ()
    said = refusal(name, "model.onnx", *needed, "--cache", "cache")
    assert said.endswith("the cache 'cache' is a file; name a folder, which may be new\n")


def test_settings_name_no_cache(folder: Path) -> None:
    (folder / "sonnx-ort.toml").write_text('cache = "cache"\n', encoding="utf-8")
    assert "'cache' is not a setting" in refusal("check", "model.onnx")
