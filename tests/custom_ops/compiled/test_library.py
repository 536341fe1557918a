"""Where the library of the compiled kernels is, and that its declarations are the real ones."""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import sonnx_ort
from sonnx_ort.custom_ops.compiled import library
from sonnx_ort.custom_ops.compiled.catalog import table, table_digest
from support.child import run_python
from support.compiled import HEADER, SOURCES

TABLE_DIGEST = "sonnx_ort.custom_ops.compiled.catalog.table_digest"
TABLE = Path(__file__).resolve().parents[3] / "custom_ops/compiled/operators.inc"


def test_table_is_that_of_the_profile():
    assert TABLE.read_text(encoding="utf-8") == table(), "run scripts/compiled_operators.py"


def test_missing_library_is_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "none.so")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        library.kernels_library()
    assert str(caught.value) == (
        "the compiled backend cannot run here, because its kernels are not there "
        f"('{tmp_path / 'none.so'}'): install a C++17 compiler, such as g++ or clang++, and "
        "install sonnx_ort again with pip's option --no-binary=sonnx_ort, or use another backend "
        "for the original model"
    )


CALLS = """
import onnx.parser, sonnx_ort, sys
from pathlib import Path
from sonnx_ort.custom_ops.compiled import library

MODEL = onnx.parser.parse_model(
    '<ir_version: 9, opset_import: ["": 17]> g (float[n] x) => (float[n] y) { y = Div(x, x) }'
)
CALLS = (
    sonnx_ort.kernels_library,
    lambda: sonnx_ort.register(backend="compiled"),
    lambda: sonnx_ort.InferenceSession(MODEL, backend="compiled"),
)
whole = library.LIBRARY.read_bytes()
DAMAGED = (
    b"", b"no library", whole[: len(whole) // 3], whole[:-1] + bytes([whole[-1] ^ 1]),
    bytes(len(whole)),
)
library.LIBRARY = Path(LIBRARY)
for content in DAMAGED:
    library.LIBRARY.write_bytes(content)
    for call in CALLS:
        try:
            call()
        except sonnx_ort.SonnxError as error:
            print(error)
"""


def test_damaged_library_is_refused_before_it_is_loaded(tmp_path):
    path = tmp_path / library.LIBRARY.name
    shutil.copy(library.LIBRARY.with_suffix(".sha256"), tmp_path)
    done = run_python(f"LIBRARY = {str(path)!r}", CALLS)
    told = (
        f"the compiled kernels of '{path}' are not those that the installation built, by the "
        "digest in 'sonnx_ort_kernels.sha256'; install sonnx_ort again\n"
    )
    assert (done.exit_status, done.stdout) == (0, told * 15), str(done)


@pytest.mark.parametrize("digest", [None, b"", b"0" * 64, b"\xff"])
def test_library_without_its_digest_is_refused(tmp_path, monkeypatch, digest):
    path = tmp_path / "other.so"
    shutil.copy(library.LIBRARY, path)
    if digest is not None:
        path.with_suffix(".sha256").write_bytes(digest)
    monkeypatch.setattr(library, "LIBRARY", path)
    with pytest.raises(sonnx_ort.SonnxError, match=r"by the digest in 'other\.sha256'"):
        library.kernels_library()


def test_library_that_is_damaged_later_is_refused(tmp_path, monkeypatch):
    path = tmp_path / library.LIBRARY.name
    for file in (library.LIBRARY, library.LIBRARY.with_suffix(".sha256")):
        shutil.copy(file, tmp_path)
    monkeypatch.setattr(library, "LIBRARY", path)
    assert library.kernels_library() == path
    path.unlink()  # it is loaded, and without its content the process would end
    path.write_bytes(b"")
    with pytest.raises(sonnx_ort.SonnxError, match="are not those that the installation built"):
        library.kernels_library()


def test_library_of_which_a_byte_changes_is_looked_at_again(tmp_path, monkeypatch):
    path = tmp_path / "bytes.so"
    path.write_bytes(b"kernels")
    path.with_suffix(".sha256").write_bytes(hashlib.sha256(b"kernels").hexdigest().encode())
    monkeypatch.setattr(library, "LIBRARY", path)
    # What it holds is no library, so it cannot be loaded.
    monkeypatch.setattr(library, "_table_of", lambda _: table_digest())
    assert library.kernels_library() == path
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"K")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(sonnx_ort.SonnxError, match="are not those that the installation built"):
        library.kernels_library()


def test_library_of_other_rules_is_refused(monkeypatch):
    monkeypatch.setattr(TABLE_DIGEST, lambda: "that of another profile")
    with pytest.raises(sonnx_ort.SonnxError, match="install sonnx_ort again"):
        sonnx_ort.register(backend="compiled")


def test_digest_is_in_the_table():
    assert f'table_digest[] = "{table_digest()}"' in table()


OWN = SOURCES / "onnxruntime_abi.h"

NEWER = frozenset({"GetTensorElementTypeAndShapeDataReference"})
"""What an older header may lack."""

STRUCTS = ("OrtApi", "OrtApiBase", "OrtCustomOp")


def fields(struct: str) -> list[str]:
    """The fields of a struct that are used."""
    [body] = re.findall(rf"struct {struct} \{{(.*?)\n\}};", OWN.read_text("utf-8"), re.DOTALL)
    return re.findall(r"\* (\w+)\)\(", body)


@pytest.mark.parametrize("struct", STRUCTS)
def test_places_are_written_down(struct):
    assert fields(struct)


@pytest.mark.skipif(not HEADER.is_file(), reason="needs the header of ONNX Runtime")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("struct", STRUCTS)
def test_places_are_those_of_the_header(struct, tmp_path):
    source = tmp_path / "places.cc"
    lines = ["#include <cstddef>", "#include <cstdint>", "namespace own {", f'#include "{OWN}"']
    lines += ["}", f'#include "{HEADER}"']
    lines += [
        f'static_assert(offsetof(own::{struct}, {name}) == offsetof({struct}, {name}), "{name}");'
        for name in fields(struct)
        if name in HEADER.read_text("utf-8") or name not in NEWER
    ]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["g++", "-std=c++17", "-fsyntax-only", "-Wno-invalid-offsetof", str(source)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
