"""No session is dropped by the thread of its own that ran it, and no program ends before its runs.

Such a process hangs or dies.
"""

import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from sonnx_ort.ort.asynchronous import KeptRun
from support.backends import on_each_backend
from support.child import run_python
from support.graphs import parse

_PROGRAM = """
    import gc, threading, time, weakref

    import numpy as np
    import onnx
    import onnxruntime as ort
    import sonnx_ort
    from support.child import delay_end
    from support.graphs import parse

    options = ort.SessionOptions()
    options.intra_op_num_threads = 4
    options.log_severity_level = 4
    feeds = {"x": np.ones((2, 3), np.float32), "s": np.array([6])}

    def started():
        return sonnx_ort.InferenceSession(
            onnx.load_from_string(MODEL), options, backend=BACKEND, operators="Reshape"
        )

    def run(sizes, keeps, fails):
        "Run in a session that nothing else refers to; give the threads of its run and of its end."
        session = started()
        threads, told, ended = [], threading.Event(), threading.Event()

        def drop():
            threads.append(threading.get_ident())
            ended.set()

        def callback(results, data, message, kept=session if keeps else None):
            threads.append(threading.get_ident())
            told.set()
            time.sleep(0.05)
            assert not fails, "as it is to be"

        weakref.finalize(session, drop)
        session.run_async(None, feeds | {"s": np.array(sizes)}, callback, None)
        del session, callback
        assert told.wait(60)
        assert ended.wait(60)
        return threads
"""
_MODEL = parse("(float[n, m] x, int64[k] s) => (float[] y) { y = Reshape(x, s) }")


def threads_of(backend: str, calls: str, *, fresh: bool = False) -> str:
    given = f"MODEL, BACKEND = {_MODEL.SerializeToString()!r}, {str(backend)!r}"
    ended = run_python(given, _PROGRAM, calls, fresh=fresh)
    assert ended.exit_status == 0, ended
    return ended.stdout


def told_of_thread(args: threading.ExceptHookArgs) -> str:
    return f"{args.exc_type.__name__}: {args.exc_value}, thread {args.thread}"


@on_each_backend
@pytest.mark.parametrize("sizes", [[6], [-1, -1]], ids=["kept rules", "broken rules"])
@pytest.mark.parametrize("keeps", [False, True], ids=["", "callback holds it"])
def test_session_is_dropped_by_another_thread_than_that_of_its_run(
    backend: str, sizes: list[int], keeps: bool
) -> None:
    calls = f"""
    of_the_run, of_the_end = run({sizes}, {keeps}, False)
    print(of_the_run != of_the_end)
    """
    assert threads_of(backend, calls) == "True\n"


def test_session_is_dropped_by_another_thread_if_the_callback_fails() -> None:
    calls = """
    threads = [run([6], True, True) for _ in range(3)]
    print([of_the_run != of_the_end for of_the_run, of_the_end in threads])
    """
    assert threads_of("native", calls) == f"{[True] * 3}\n"


@on_each_backend
@pytest.mark.parametrize("drops", [False, True], ids=["", "session is dropped"])
def test_program_that_ends_waits_for_the_run(backend: str, drops: bool) -> None:
    calls = f"""
    delay_end(0.5)  # a run that ends meanwhile would end the process
    graph = "(float[n,m] x) => (float[] y) {{ a = MatMul(x, x) b = MatMul(a, x) y = MatMul(b, x) }}"
    session = sonnx_ort.InferenceSession(parse(graph), options, backend=BACKEND, operators="MatMul")
    large = {{"x": np.ones((900, 900), np.float32)}}
    session.run_async(None, large, lambda results, *_: print(results[0].shape), None)
    if {drops}:
        del session
    """
    assert threads_of(backend, calls, fresh=True) == "(900, 900)\n"


def test_program_ends_after_a_run_that_is_refused() -> None:
    calls = """
    session = started()
    try:
        session.run_async(None, {"x": None}, print, None)
    except Exception as error:
        print(type(error).__name__)
    dropped = weakref.ref(session)
    del session
    gc.collect()
    for _ in range(600):
        if dropped() is None:
            break
        time.sleep(0.1)
    print(dropped())
    """
    assert threads_of("native", calls).splitlines()[1:] == ["None"]


def test_program_ends_after_more_runs_than_can_wait() -> None:
    """ONNX Runtime makes some of these runs in the thread that begins them."""
    calls = """
    session = started()
    threads, here, hold = [], threading.get_ident(), threading.Event()

    def callback(results, data, message):
        threads.append(threading.get_ident())
        if threads[-1] != here:
            hold.wait()

    for _ in range(5000):
        session.run_async(None, feeds, callback, None)
    told = weakref.finalize(session, lambda: print(len(threads), "are ended"))
    print(here in threads, threading.active_count() < 10)
    del session
    hold.set()
    """
    assert threads_of("native", calls, fresh=True) == "True True\n5000 are ended\n"


def test_fork_ends_that_has_no_run_of_its_own() -> None:
    calls = """
    import os
    session = started()
    hold = threading.Event()
    session.run_async(None, feeds, lambda *_: hold.wait(), None)
    made = os.fork()
    if made:
        print(os.waitstatus_to_exitcode(os.waitpid(made, 0)[1]))
    else:
        from sonnx_ort.ort.asynchronous import KeptRun
        KeptRun(object(), lambda *_: None).give_up()
        threading._shutdown()
        os._exit(7)
    hold.set()
    """
    assert threads_of("native", calls) == "7\n"


def test_session_goes_on_while_it_is_held() -> None:
    calls = """
    session = started()
    answers = []
    for _ in range(20):
        told = threading.Event()
        def callback(results, data, message, told=told):
            answers.append(results)
            told.set()

        session.run_async(None, feeds, callback, None)
        assert told.wait(60)
    print(len(answers), session.run(None, feeds)[0].shape)
    """
    assert threads_of("native", calls) == "20 (6,)\n"


class Kept:
    """Stands for a session."""


def ended_in_a_thread(
    told: Callable[..., None], after: Callable[[], None] = lambda: None
) -> "weakref.ref[Kept]":
    """Run the callback of a session in a thread, which then does more; give what was kept."""
    session = Kept()
    kept, of_session = weakref.ref(session), KeptRun(session, told)

    def run() -> None:
        of_session.end("results", "data", "message")
        after()

    thread = threading.Thread(target=run)
    del session
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    return kept


def gone_soon(kept: "weakref.ref[Kept]") -> bool:
    """Whether something is dropped, soon even where much else runs."""
    end = time.monotonic() + 20
    while kept() is not None and time.monotonic() < end:
        gc.collect()
        time.sleep(0.001)
    return kept() is None


def test_callback_gets_the_session_and_what_the_run_gives() -> None:
    given: list[Any] = []

    def told(session: Kept, *rest: str) -> None:
        given.extend([type(session), *rest])

    ended_in_a_thread(told)
    assert given == [Kept, "results", "data", "message"]


def test_session_is_dropped_soon_after_its_thread_has_left_python() -> None:
    assert gone_soon(ended_in_a_thread(lambda *_: None))


def test_session_is_dropped_though_its_callback_is_held() -> None:
    session = Kept()
    kept, run = weakref.ref(session), KeptRun(session, lambda *_: None)
    del session
    thread = threading.Thread(target=run.end, args=(None, None, ""))
    thread.start()
    thread.join(60)
    assert gone_soon(kept)
    del run


def test_session_is_dropped_that_ran_in_the_thread_that_began_the_run() -> None:
    session = Kept()
    kept, run = weakref.ref(session), KeptRun(session, lambda *_: None)
    run.end(None, None, "")
    run.begun()
    del session
    assert gone_soon(kept)


def test_session_is_kept_that_runs_later_in_the_thread_that_began_the_run() -> None:
    """As where a callback begins a run of its session."""
    sessions: list[weakref.ref[Kept]] = []
    found: list[bool] = []

    def begin_and_end() -> None:
        session = Kept()
        sessions.append(weakref.ref(session))
        run = KeptRun(session, lambda *_: None)
        del session
        run.begun()
        run.end(None, None, "")
        time.sleep(0.2)
        found.append(sessions[0]() is not None)

    thread = threading.Thread(target=begin_and_end)
    thread.start()
    thread.join(60)
    assert found == [True]
    assert gone_soon(sessions[0])


def test_session_is_dropped_whose_run_is_not_begun() -> None:
    session = Kept()
    kept, run = weakref.ref(session), KeptRun(session, lambda *_: None)
    del session
    assert kept() is not None
    run.give_up()
    assert gone_soon(kept)


def test_error_of_a_callback_is_told_as_that_of_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(told_of_thread(args)))

    def fail(*_: object) -> None:
        raise ValueError("as it is to be")

    kept = ended_in_a_thread(fail)
    assert told == ["ValueError: as it is to be, thread None"]
    assert gone_soon(kept)


def test_session_is_kept_as_long_as_its_thread_runs_python() -> None:
    sessions: list[weakref.ref[Kept]] = []
    found: list[bool] = []

    def look() -> None:
        time.sleep(0.2)
        found.append(sessions[0]() is not None)

    kept = ended_in_a_thread(lambda session, *_: sessions.append(weakref.ref(session)), look)
    assert found == [True]
    assert gone_soon(kept)
