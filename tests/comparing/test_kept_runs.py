"""Runs in a folder: what is read again is what was written, of every type."""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from sonnx_ort.comparing.difference import EXACT, compared, same
from sonnx_ort.comparing.runs import Runs, keep, kept, run_both
from sonnx_ort.errors import SonnxError
from support.graphs import parse

MODELS = ("a.onnx", "b.onnx")
TYPES = """(float[3] x, int32[1] i, string[2] t) => (b, h, s, u, l) {
    [narrow] b = Cast<to = 16>(x) h = Cast<to = 10>(x) [list] s = SequenceConstruct(x, x)
    u = Identity(t) f = Cast<to = 1>(h) l = Less(x, f) }"""
ENDS = "(int32[1] x, int32[1] y) => (int32[1] z) { a = Neg(x) [divide] z = Div(a, y) }"


def runs_of(text: str, given: dict[str, np.ndarray], seeds: int = 1) -> list[tuple[str, Runs]]:
    samples = [(given, seed) for seed in range(seeds)]
    models = parse(text), parse(text)
    return [(f"sample {at}", each) for at, each in enumerate(run_both(*models, samples))]


def test_values_of_every_type_are_read_as_they_were_written(tmp_path: Path) -> None:
    written = runs_of(TYPES, {"t": np.array(["a", "\u00e9"], object)}, 2)
    assert [*keep(written, tmp_path / "runs", MODELS)] == written
    models, found = kept(tmp_path / "runs")
    read = dict(found)
    assert models == MODELS
    assert list(read) == ["sample 0", "sample 1"]
    for name, runs in written:
        again = read[name]
        assert again.pair == runs.pair
        assert again.inputs.origin("x") == runs.inputs.origin("x")
        for before, after in zip(runs.traces, again.traces, strict=True):
            assert (before.nodes, before.stop) == (after.nodes, after.stop)
            assert list(before.values) == list(after.values)
            assert all(same(array, after.values[key]) for key, array in before.values.items())
        assert again.traces[0].values["s"] is None
        assert again.traces[0].values["b"].dtype == ml_dtypes.bfloat16
        assert compared(again, EXACT).equal


@pytest.mark.upstream
def test_run_that_ended_the_process_is_read_as_such(tmp_path: Path) -> None:
    given = {"x": np.array([-(2**31)], np.int32), "y": np.array([-1], np.int32)}
    (before,) = keep(runs_of(ENDS, given), tmp_path / "runs", MODELS)
    (after,) = kept(tmp_path / "runs")[1]
    assert after[1].traces[0].stop == before[1].traces[0].stop
    assert "SIGFPE" in str(after[1].traces[0].stop)


def test_folder_with_files_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SonnxError) as caught:
        next(keep(runs_of("(float x) => (float y) { y = Neg(x) }", {}), tmp_path, MODELS))
    assert str(caught.value) == f"'{tmp_path}' is not empty; name a new folder"


@pytest.mark.parametrize(("content", "reason"), [
    ("{", "cannot be read: "),
    (json.dumps({"version": 0}), "is of another version of sonnx_ort; save the runs again"),
    (json.dumps({"version": 1}), "cannot be read: KeyError('models'); save the runs again"),
    ("[]", "cannot be read: TypeError("),
], ids=["damaged", "another version", "no models", "no object"])  # fmt: skip
def test_what_was_not_saved_so_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "0").mkdir()
    path = tmp_path / "0" / "run.json"
    path.write_text(content)
    with pytest.raises(SonnxError) as caught:
        kept(tmp_path)
    assert str(caught.value).startswith(f"'{path}' {reason}")
