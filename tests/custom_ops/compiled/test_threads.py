"""Threads share the kernels: each is given its own results and violations, and nothing races."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

import sonnx_ort
from support.child import run_program
from support.compiled import RUNS, compile_cpp
from support.graphs import parse
from support.sessions import quiet

THREADS = 8
ROUNDS = 6
COUNT = 100_003  # four parts, for which ONNX Runtime takes threads of its own

INT32 = 6
"""What ONNX calls the type."""


@pytest.mark.parametrize("sessions", [1, THREADS], ids=["one session", "a session each"])
def test_each_thread_is_given_its_own(sessions: int) -> None:
    together = Barrier(THREADS)
    shared: list[sonnx_ort.InferenceSession] = []

    def start() -> sonnx_ort.InferenceSession:
        model = parse("(int32[n] a, int32[n] b) => (int32[n] c) {\n [ratio] c = Div(a, b)\n }")
        return sonnx_ort.InferenceSession(model, quiet(), backend="compiled")

    def run(thread: int) -> None:
        together.wait(60)
        session = shared[0] if shared else start()
        random = np.random.default_rng(thread)
        for turn in range(ROUNDS):
            a = random.integers(-(2**31), 2**31, COUNT, np.int32)
            b = random.integers(1, 1000, COUNT, np.int32)
            c = session.run(None, {"a": a, "b": b})[0]
            np.testing.assert_array_equal(c, np.trunc(a / b).astype(np.int32))
            index = (thread * 12_345 + turn) % COUNT
            b[index] = 0
            with pytest.raises(sonnx_ort.ContractViolation) as caught:
                session.run(None, {"a": a, "b": b})
            found = caught.value
            assert (found.rule, found.index) == ("Div.int.C1", (index,))
            assert found.values == (a[index], 0)

    if sessions == 1:
        shared.append(start())
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(run, range(THREADS)):
            pass


def sanitizer(compiler: str) -> bool:
    """Whether a compiler has ThreadSanitizer."""
    if shutil.which(compiler) is None:
        return False
    command = [compiler, "-print-file-name=libtsan.so"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return Path(found).is_absolute()


@pytest.mark.thorough
@pytest.mark.skipif(not sanitizer("g++"), reason="needs g++ and its ThreadSanitizer (libtsan)")
def test_thread_sanitizer_finds_no_race(tmp_path: Path) -> None:
    program = tmp_path / "runs"
    compile_cpp(["g++"], RUNS, program, "-O1", "-g1", "-fsanitize=thread")
    # Threads start sessions, share one, and have two threads each do the parts of a work.
    done = run_program([program, str(THREADS), str(INT32), "33000"], timeout=900)
    assert (done.exit_status, done.stderr) == (0, ""), done
    assert "CheckedDiv 6 typed" in done.stdout
