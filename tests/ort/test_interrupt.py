"""Ctrl-C does not end the process inside a kernel."""

import signal
import threading
from collections.abc import Iterator

import pytest

from sonnx_ort.ort.violations import interrupts_deferred
from support.child import run_python

MODEL = """
    import os, signal, threading, time
    import numpy as np
    import onnxruntime as ort
    import sonnx_ort
    from onnx import helper
    from support.graphs import model, tensor
    # A shell lets what it runs in the background ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nodes = [helper.make_node("Div", [f"t{i}", "one"], [f"t{i + 1}"]) for i in range(200)]
    made = model(
        nodes,
        [tensor("t0", "float", ["n"]), tensor("one", "float", ["n"])],
        [tensor("t200", "float", ["n"])],
    )
    feeds = {"t0": np.ones(200_000, np.float32), "one": np.ones(200_000, np.float32)}
    session = sonnx_ort.InferenceSession(made)
    session.run(None, feeds)
"""


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupted_run_raises_keyboard_interrupt_and_the_process_lives() -> None:
    child = run_python(
        MODEL,
        """
        try:
            threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGINT)).start()
            for _ in range(1000):
                session.run(None, feeds)
        except KeyboardInterrupt:
            print("interrupted")
        print(session.run(None, feeds)[0][:2])
        """,
    )
    assert child.exit_status == 0, child
    assert child.stdout == "interrupted\n[1. 1.]\n"


def test_interrupt_is_delivered_when_the_block_ends() -> None:
    reached: list[str] = []

    def interrupted() -> None:
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            reached.append("end of the block")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == ["end of the block"]


def test_handler_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts_deferred():
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_left_alone() -> None:
    failures: list[BaseException] = []

    def enter() -> None:
        try:
            with interrupts_deferred():
                pass
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert failures == []
