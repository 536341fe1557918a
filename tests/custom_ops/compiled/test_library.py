"""Where the library of the compiled kernels is, and that it is of the rules of this package."""

from pathlib import Path

import pytest

import sonnx_ort
from sonnx_ort.custom_ops.compiled import library
from sonnx_ort.custom_ops.compiled.table import table, table_digest

TABLE = Path(__file__).resolve().parents[3] / "custom_ops/compiled/operators.inc"


def test_table_is_that_of_the_profile():
    assert TABLE.read_text(encoding="utf-8") == table(), "run scripts/compiled_operators.py"


def test_missing_library_is_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "none.so")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        library.kernels_library()
    assert str(caught.value) == (
        f"the compiled kernels are not there ('{tmp_path / 'none.so'}'): install a C++17 compiler, "
        "such as g++ or clang++, and install sonnx_ort again, or use another backend"
    )


@pytest.mark.parametrize("content", [b"", b"no library"], ids=["empty", "text"])
def test_unreadable_library_is_refused(tmp_path, monkeypatch, content):
    path = tmp_path / "other.so"
    path.write_bytes(content)
    monkeypatch.setattr(library, "LIBRARY", path)
    with pytest.raises(sonnx_ort.SonnxError, match="were not made of the rules of this sonnx_ort"):
        library.kernels_library()


def test_library_of_other_rules_is_refused(monkeypatch):
    monkeypatch.setattr(library, "table_digest", lambda: "that of another profile")
    with pytest.raises(sonnx_ort.SonnxError, match="install sonnx_ort again"):
        sonnx_ort.register(backend="compiled")


def test_digest_is_in_the_table():
    assert f'table_digest[] = "{table_digest()}"' in table()
