"""A session is never dropped by the thread of its own that ran it: such a process hangs or dies."""

import pytest

from support.backends import on_each_backend
from support.child import run_python
from support.graphs import parse

_PROGRAM = """
    import gc, threading, time, weakref

    import numpy as np
    import onnx
    import onnxruntime as ort
    import sonnx_ort
    from sonnx_ort.ort import asynchronous

    options = ort.SessionOptions()
    options.intra_op_num_threads = 4
    options.log_severity_level = 4

    def run(sizes, keeps, fails):
        "Run in a session that nothing else refers to; give the threads of its run and of its end."
        session = sonnx_ort.InferenceSession(
            onnx.load_from_string(MODEL), options, backend=BACKEND, operators="Reshape"
        )
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
        feeds = {"x": np.ones((2, 3), np.float32), "s": np.array(sizes)}
        session.run_async(None, feeds, callback, None)
        del session, callback
        assert told.wait(60)
        assert ended.wait(60)
        return threads
"""
_MODEL = parse("(float[n, m] x, int64[k] s) => (float[] y) { y = Reshape(x, s) }")


def threads_of(backend: str, calls: str) -> str:
    given = f"MODEL, BACKEND = {_MODEL.SerializeToString()!r}, {str(backend)!r}"
    ended = run_python(given, _PROGRAM, calls)
    assert ended.exit_status == 0, ended
    return ended.stdout


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
    of_the_run, of_the_end = run([6], True, True)
    print(of_the_run != of_the_end)
    """
    assert threads_of("native", calls) == "True\n"


def test_session_that_no_thread_can_drop_stays() -> None:
    calls = """
    def refuse(*args, **kwargs):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    asynchronous.threading = type("NoThreads", (), {"Thread": refuse, "get_ident": int})
    session = sonnx_ort.InferenceSession(onnx.load_from_string(MODEL), operators="Reshape")
    kept, told = weakref.ref(session), threading.Event()
    feeds = {"x": np.ones((2, 3), np.float32), "s": np.array([6])}
    session.run_async(None, feeds, lambda *_: told.set(), None)
    del session
    assert told.wait(60)
    time.sleep(0.2)
    print(kept() is not None)
    """
    assert threads_of("native", calls) == "True\n"


def test_session_goes_on_while_it_is_held() -> None:
    calls = """
    session = sonnx_ort.InferenceSession(onnx.load_from_string(MODEL), options, operators="Reshape")
    feeds = {"x": np.ones((2, 3), np.float32), "s": np.array([6])}
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
