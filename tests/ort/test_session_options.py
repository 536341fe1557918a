"""Session options are changed for a while alone, and those that change results are refused."""

import errno
import gc
import os
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

import onnxruntime as ort
import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.ort.session_options import (
    attribute,
    config_entry,
    locked,
    require_same_results,
    temporary_folder,
    write_weights_externally,
)

WEIGHTS = "session.optimized_model_external_initializers_file_name"
SMALLEST = "session.optimized_model_external_initializers_min_size_in_bytes"


def test_options_have_one_lock_each() -> None:
    one, other = ort.SessionOptions(), ort.SessionOptions()
    assert locked(one) is locked(one)
    assert locked(one) is not locked(other)


def test_thread_that_holds_the_lock_takes_it_again() -> None:
    lock = locked(ort.SessionOptions())
    with lock:
        taken = lock.acquire(blocking=False)
    assert taken


def test_lock_keeps_no_options() -> None:
    options = ort.SessionOptions()
    locked(options)
    kept = weakref.ref(options)
    del options
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_attribute_is_set_back_after_a_block_that_fails(error: type[BaseException]) -> None:
    options = ort.SessionOptions()
    options.logid = "mine"
    seen = []
    with suppress(error), attribute(options, "logid", "other"):
        seen.append(options.logid)
        raise error
    assert [*seen, options.logid] == ["other", "mine"]


@pytest.mark.parametrize(("key", "effect"), [
    ("session.set_denormal_as_zero", "makes results differ from IEEE 754"),
    ("optimization.enable_cast_chain_elimination", "removes conversions that round results"),
    ("optimization.enable_gelu_approximation", "replaces Gelu by an approximation"),
    ("session.enable_quant_qdq_cleanup", "removes QuantizeLinear and DequantizeLinear nodes"),
    ("mlas.enable_gemm_fastmath_arm64_bfloat16", "rounds the operands of products to bfloat16"),
])  # fmt: skip
def test_option_that_changes_results_is_refused(key: str, effect: str) -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry(key, "1")
    with pytest.raises(SonnxError) as caught:
        require_same_results(options)
    assert str(caught.value) == f"the session option {key}=1 {effect}; remove it"


@pytest.mark.parametrize(("given", "name", "smallest"), [
    ({}, "weights", "1024"),
    ({WEIGHTS: "mine"}, "mine", "1024"),
    ({SMALLEST: "7"}, "weights", "7"),
])  # fmt: skip
def test_entries_for_weights_are_those_of_the_caller_if_there_are_any(
    given: dict[str, str], name: str, smallest: str
) -> None:
    options = ort.SessionOptions()
    for key, value in given.items():
        options.add_session_config_entry(key, value)
    write_weights_externally(options)
    assert (config_entry(options, WEIGHTS), config_entry(options, SMALLEST)) == (name, smallest)


NO_ROOM = (
    "the optimized graph cannot be written to a temporary folder for its check: {}. Free space "
    "there, or set the environment variable TMPDIR to another folder"
)


@pytest.mark.parametrize("said", [
    "Protobuf serialization failed.", "Failed to write external initializers to file",
    "Failed writing 8 bytes", "Failed to flush stream",
])  # fmt: skip
def test_disk_that_is_full_is_told_with_what_to_do(said: str) -> None:
    with pytest.raises(SonnxError) as caught, temporary_folder():
        raise RuntimeError(said)
    assert str(caught.value) == NO_ROOM.format(said)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_folder_that_cannot_be_made_is_told_with_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(SonnxError) as caught, temporary_folder():
        pass
    assert str(caught.value) == NO_ROOM.format(caught.value.__cause__)
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_other_errors_of_the_block_are_raised_as_they_are() -> None:
    with pytest.raises(KeyError), temporary_folder():
        raise KeyError("Failed")


def test_folder_is_deleted_with_what_is_in_it() -> None:
    with temporary_folder() as folder:
        (folder / "file").write_text("content", encoding="utf-8")
    assert not folder.exists()


def test_folder_that_cannot_be_deleted_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(errno.EBUSY, "another process has a file open")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder() as folder:
        monkeypatch.setattr(os, "rmdir", refuse)
    assert folder.exists()
