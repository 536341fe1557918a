"""Python processes that are forked from one that has imported everything and started nothing.

    python -m support.forks SOCKET

is that one. A fork is a child of the process that asks for it, and a signal or a status ends it. It
leaves memory as it is, as forks of multiprocessing do: threads of libraries are not in a fork, and
would be waited for. All that it imports is there: a test about imports starts another process.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import inspect
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any, NoReturn

_PREPARED = ("onnxruntime_extensions", "onnx.reference", "support.graphs", "typer", "rich")
"""What is imported once beside the package; a fork fails by itself at what is not installed."""

_TESTS = Path(__file__).resolve().parents[1]

VARIABLES = {
    "PYTHONPATH": os.pathsep.join(map(str, (_TESTS, _TESTS.parent / "scripts"))),
    "PYTHONIOENCODING": "utf-8",
}
"""Variables under which `support` and the modules of the scripts can be imported."""

_AT_START = ("PYTHON", "MALLOC_", "GLIBC_", "LD_", "OMP_")
"""What the names of variables begin with that a process reads only when it starts."""

_READ_AT_START = {
    **{name: value for name, value in os.environ.items() if name.startswith(_AT_START)},
    **VARIABLES,
    "PYTHONHASHSEED": "0",  # sets of names have one order in all forks
}

_MOST_BYTES = 1 << 18
"""Of what a fork is to do; a command of more could not be started either."""

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of <sys/prctl.h>."""

_ONE_AT_A_TIME = threading.Lock()


class ForkedPython(subprocess.Popen[Any]):
    """`[sys.executable, "-c", code]` or `[..., "-m", module]` in a fork, as `subprocess.Popen`.

    All else is started as that does: programs, options of Python, variables that Python reads.
    """

    def _execute_child(self, *arguments: Any) -> None:
        start = super()._execute_child
        given = inspect.signature(start).bind(*arguments).arguments
        job = _job(given["args"], given["cwd"], given["env"])
        if job is None or given["pass_fds"] or given["preexec_fn"] or given["start_new_session"]:
            start(*arguments)
            return
        its = [given[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        self.pid = _fork(job, [number if end == -1 else end for number, end in enumerate(its)])
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(given[name] for name in pipes))


FORKING = types.SimpleNamespace(**vars(subprocess) | {"Popen": ForkedPython})
"""The module `subprocess` that forks."""


def run(
    command: list[Any], given: Any = None, timeout: float = 120, *, fresh: bool = False, **how: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a command as `subprocess.run`, in a fork if it can be, unless it has to be `fresh`."""
    start = subprocess.Popen if fresh else ForkedPython
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start(command, **pipes | how) as process:
        try:
            written = process.communicate(given, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, *written)


def _job(command: Any, folder: Any, variables: Any) -> bytes | None:
    """What a fork is to do; None if it cannot be forked."""
    if sys.platform != "linux" or not isinstance(command, list):
        return None
    program, option, *rest = *map(str, command), ""
    environment = dict(os.environ if variables is None else variables)
    read = {(name, value) for name, value in environment.items() if name.startswith(_AT_START)}
    if program != sys.executable or option not in {"-c", "-m"} or read - _READ_AT_START.items():
        return None
    return json.dumps([option, rest[:-1], str(folder or Path.cwd()), environment]).encode()


def _fork(job: bytes, files: list[int]) -> int:
    """Start a fork, which the one between it and this process leaves to this one."""
    prctl = ctypes.CDLL(None).prctl
    with _ONE_AT_A_TIME:
        prctl(_SUBREAPER, 1, 0, 0, 0)
        try:
            prepared = _prepared(os.getpid())
            socket.send_fds(prepared, [job], files)
            return int(prepared.recv(32))
        finally:
            prctl(_SUBREAPER, 0, 0, 0, 0)


_SERVERS: dict[int, socket.socket] = {}
"""By process the socket of a child of it that is prepared, and ends with it."""


def _prepared(process: int) -> socket.socket:
    """The socket of such a child of this process."""
    if process in _SERVERS:
        return _SERVERS[process]
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        command = [sys.executable, "-m", "support.forks", str(its.fileno())]
        variables = os.environ | _READ_AT_START
        null = subprocess.DEVNULL
        started = subprocess.Popen(
            command, stdin=null, stdout=null, env=variables, pass_fds=[its.fileno()]
        )
    started.returncode = 0  # nobody waits for it
    _SERVERS[process] = ours
    atexit.register(ours.close)
    return ours


def _import_all() -> None:
    package = _TESTS.parent / "sonnx_ort"
    files = (file.relative_to(package.parent).with_suffix("") for file in package.rglob("*.py"))
    names = (".".join(file.parts) for file in files if not file.name.startswith("__"))
    for name in (*_PREPARED, *names):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def main() -> None:
    """Import all, and make forks of this process."""
    _import_all()
    _make_forks(socket.socket(fileno=int(sys.argv[1])))


def leave_beside() -> None:
    """Leave a fork of this process beside it that makes its forks: they are as this one is now.

    It has to have started nothing so far.
    """
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.stdout.flush()
    if os.fork() == 0:
        ours.close()
        # pytest puts others in the place of the streams.
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
        _make_forks(its)
    its.close()
    _SERVERS[os.getpid()] = ours


def _make_forks(asking: socket.socket) -> NoReturn:
    """Make forks until nobody asks for one; end as what a fork executes, in the fork."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    files, job = _with_forks_of_its_own(*_asked_for(asking))
    status = 1
    try:
        _execute(files, *json.loads(job))
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - as Python shows whatever ends it
        sys.excepthook(*sys.exc_info())
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)


def _asked_for(asking: socket.socket) -> tuple[list[int], bytes]:
    """Make a fork for each that is asked for; in the fork, give its files and what it is to do."""
    with asking:
        while True:
            job, files, _, _ = socket.recv_fds(asking, _MOST_BYTES, 3)
            if not job:
                os._exit(0)
            reading, writing = os.pipe()
            between = os.fork()
            if between == 0:
                child = os.fork()
                if child == 0:
                    break
                os.write(writing, b"%d" % child)
                os._exit(0)
            os.waitpid(between, 0)
            asking.send(os.read(reading, 32))
            for file in (reading, writing, *files):
                os.close(file)
    for file in (reading, writing):
        os.close(file)
    return files, job


def _with_forks_of_its_own(files: list[int], job: bytes) -> tuple[list[int], bytes]:
    """Leave a process beside a fork that makes its forks, as long as it has started nothing.

    Otherwise each of the package's isolated runs there would import everything anew.
    """
    while True:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork():
            break
        ours.close()
        for file in files:
            os.close(file)
        files, job = _asked_for(its)
    its.close()
    _SERVERS[os.getpid()] = ours
    isolated_run = importlib.import_module("sonnx_ort.runs.isolated_run")
    isolated_run.subprocess = FORKING  # type: ignore[attr-defined]
    return files, job


def _execute(files: list[int], option: str, words: list[str], folder: str, variables: Any) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdout.reconfigure(line_buffering=os.isatty(1))  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    what, *arguments = words
    sys.argv = [option, *arguments]
    if option == "-m":
        sys.path[0] = folder
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.path[0] = ""
    sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(what, "<string>", "exec"), vars(sys.modules["__main__"]))  # noqa: S102


if __name__ == "__main__":
    main()
