"""What exceeds a limit of time or memory is ended, and said with the option that allows more."""

import math
import os
import sys
import time
from pathlib import Path

import pytest

from sonnx_ort.runs import limits as module
from sonnx_ort.runs.limits import Limits, Watched


class Process:
    """Stands for a process, and notes that it was killed."""

    pid = 1

    def __init__(self) -> None:
        self.killed = 0

    def kill(self) -> None:
        self.killed += 1


def watched(process: Process, limits: Limits) -> Watched:
    return Watched(process, limits)  # type: ignore[arg-type]


def exceeded(limits: Limits) -> str:
    """Wait until a process exceeds limits; give what is said of it."""
    process = Process()
    with watched(process, limits) as watching:
        end = time.monotonic() + 20
        while not process.killed and time.monotonic() < end:
            time.sleep(0.001)
    assert process.killed == 1
    return str(watching.exceeded)


@pytest.mark.parametrize(("seconds", "said"), [
    (0.125, "takes longer than 0.125 s; time_limit=2 allows more"),
    (0.2, "takes longer than 0.2 s; time_limit=2 allows more"),
])  # fmt: skip
def test_process_that_takes_too_long_is_killed(seconds: float, said: str) -> None:
    assert exceeded(Limits(seconds)) == said


def test_process_that_comes_to_have_too_much_memory_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    amounts, seen = [0, 2_000_000, 2_000_001], []

    def memory(process: int) -> int:
        seen.append(process)
        return amounts[len(seen) - 1]

    monkeypatch.setattr(module, "_memory", memory)
    assert exceeded(Limits(megabytes=2)) == (
        "takes more than 2 MB of memory; memory_limit=4 allows more"
    )
    assert seen == [Process.pid] * 3


def test_memory_that_is_said_to_allow_more_is_a_whole_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_of_machine", lambda: 10_000_001)
    monkeypatch.setattr(module, "_memory", lambda _: 8_000_000)
    assert exceeded(Limits()) == "takes more than 8 MB of memory; memory_limit=16 allows more"


def test_process_that_ends_in_time_is_not_killed() -> None:
    process = Process()
    with watched(process, Limits(60)) as watching:
        assert watching._watcher.is_alive()
        assert watching._watcher.daemon
    assert not watching._watcher.is_alive()
    assert (process.killed, watching.exceeded) == (0, "")


@pytest.mark.parametrize(("megabytes", "size"), [(1, 1_000_000), (8000, 8_000_000_000)])
def test_limit_of_memory_is_in_millions_of_bytes(megabytes: int, size: int) -> None:
    assert Limits(megabytes=megabytes).bytes == size


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells the memory of a process")
def test_memory_of_a_process_is_what_it_has_in_memory() -> None:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    said = dict(line.split(":", 1) for line in lines)
    resident = 1024 * int(said["VmRSS"].split()[0])
    assert module._memory(os.getpid()) == pytest.approx(resident, rel=0.05)


def test_memory_of_a_process_that_is_gone_is_0() -> None:
    assert module._memory(2**31 - 1) == 0


@pytest.mark.parametrize(("said", "least"), [
    (["4000", "8000"], 4000), (["8000", "4000"], 4000), (["max", "4000"], 4000),
    ([None, "4000"], 4000), (["4000", None], 4000),
], ids=str)  # fmt: skip
def test_memory_of_a_container_is_the_least_that_is_said(
    said: list[str | None], least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / str(number) for number in range(len(said))]
    for path, text in zip(paths, said, strict=True):
        if text is not None:
            path.write_text(text, encoding="ascii")
    monkeypatch.setattr(module, "_CONTAINERS", tuple(paths))
    assert module._of_machine() == least


def test_memory_has_no_limit_where_the_system_does_not_tell_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_CONTAINERS", ())
    monkeypatch.delattr(os, "sysconf")
    assert Limits().bytes == math.inf


def test_memory_of_a_container_is_read_where_linux_says_it() -> None:
    assert [str(path) for path in module._CONTAINERS] == [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
