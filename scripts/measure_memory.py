"""`campaigns.py memory`: whether long use takes more and more memory.

Runs of one session, a fourth of which break a rule, and a tenth as many sessions with two runs
each, with each backend, each in a process of its own. The figures are written to
docs/records/memory.json; a second call omits what stands there.
"""

import contextlib
import gc
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from ages import sources_of
from benchmarks.turns import apart
from model_builders.graphs import parse
from plain_sessions import make_options
from records import RECORDS, Record, make_parser, steps, today, versions_of

import sonnx_ort
from sonnx_ort.backends import Backend

RECORD = RECORDS / "memory.json"
_PARTS = 5
_SAMPLES = 50

ALLOWANCE = 4096
"""KiB by which the memory may seem to have grown: allocators keep pieces of about 1 MiB in some
runs and not in others. So 4,000 repetitions show what leaves 2 KiB each, and 100,000 what leaves 70
bytes."""

_MODEL = parse("""(int32[n] a, int32[n] b, float[n,4] x, float[n,4] y)
=> (int32[n] c, float[n,4] z) {
    [divide] c = Div(a, b)
    r = Relu(x)
    [scale] s = Div(r, y)
    [subtract] z = Sub(s, y)
}""").SerializeToString()
_KEPT = {
    "a": np.array([6, 9, 35], np.int32),
    "b": np.array([3, 3, 5], np.int32),
    "x": np.ones((3, 4), np.float32),
    "y": np.full((3, 4), 2, np.float32),
}
_BROKEN = (
    _KEPT | {"b": np.array([3, 0, 5], np.int32)},
    _KEPT | {"a": np.full(3, -(2**31), np.int32), "b": np.full(3, -1, np.int32)},
    _KEPT | {"y": np.ones((1, 4), np.float32)},
)


@dataclass(frozen=True, slots=True)
class Growth:
    """The memory in use, of which the first fifth of the repetitions is omitted as a warm-up.

    `before` is the most KiB in the second fifth, and `after` the least in the last one.
    """

    repetitions: int
    before: int
    after: int

    @property
    def grown(self) -> int:
        """KiB by which every sample at the end is above every one at the beginning; 0 if none is.

        What leaks with each repetition shows here, whatever is freed and taken in between.
        """
        return max(0, self.after - self.before)

    def exceeds(self, each: int = 0) -> bool:
        """Whether it is more than allocators need."""
        return self.grown > ALLOWANCE + each * self.repetitions


def measure(repeated: Callable[[int], object], repetitions: int) -> Growth:
    """Repeat something, and look at the memory of the process."""
    distance = max(1, repetitions // _SAMPLES)
    samples = []
    for number in range(repetitions):
        repeated(number)
        if number % distance == distance - 1:
            gc.collect()
            samples.append(_resident())
    part = len(samples) // _PARTS
    return Growth(repetitions, max(samples[part : 2 * part]), min(samples[-part:]))


def _resident() -> int:
    """KiB of memory that the process holds."""
    status = Path("/proc/self/status").read_text("ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])


def _session(backend: str) -> sonnx_ort.InferenceSession:
    return sonnx_ort.InferenceSession(_MODEL, make_options(), backend=Backend(backend))


def runs(backend: str) -> Callable[[int], object]:
    """Runs of one session, of which every fourth breaks a rule."""
    session = _session(backend)

    def run(number: int) -> None:
        if number % 4:
            session.run(None, _KEPT)
        else:
            _break_a_rule(session, number // 4)

    return run


def sessions(backend: str) -> Callable[[int], object]:
    """Sessions, each with a run that keeps the rules and one that breaks one."""

    def start(number: int) -> None:
        session = _session(backend)
        session.run(None, _KEPT)
        _break_a_rule(session, number)

    return start


def _break_a_rule(session: sonnx_ort.InferenceSession, number: int) -> None:
    with contextlib.suppress(sonnx_ort.ContractViolation):
        session.run(None, _BROKEN[number % len(_BROKEN)])
        raise AssertionError("a broken rule is not refused")


CASES: dict[str, Callable[[str], Callable[[int], object]]] = {"runs": runs, "sessions": sessions}
"""By name: gives for a backend what is repeated."""


LEFT_BEHIND = {"runs": 0, "sessions": 8}
"""KiB that each leaves, at most: onnxruntime-extensions frees not all of a session's."""

PACKAGES = ("onnxruntime", "onnxruntime-extensions", "onnx", "onnx-ir", "numpy")


def measure_case(case: str, backend: str, repetitions: int) -> Growth:
    """Repeat a case with a backend."""
    # Thousands of violations are not for the log.
    logging.getLogger("sonnx_ort").disabled = True
    return measure(CASES[case](backend), repetitions)


def run(arguments: Sequence[str]) -> int:
    """Measure all cases; give 1 if the memory grows."""
    parser = make_parser(__doc__, RECORD, count=100_000, only="", seconds=math.inf)
    options = parser.parse_args(arguments)
    repetitions = {"runs": options.count, "sessions": options.count // 10}
    record = Record(
        options.record,
        anew=options.anew,
        made_by=versions_of(PACKAGES, sources_of("memory.json")),
        unit="KiB",
        allowance=ALLOWANCE,
        left_behind=LEFT_BEHIND,
        cases={},
    )
    known, names = record["cases"], {f"{c}, {b}": (c, b) for b in Backend for c in CASES}
    left = [
        name
        for name, (case, _) in names.items()
        if options.only in name and known.get(name, {}).get("repetitions") != repetitions[case]
    ]
    total = len(left)
    for _ in steps("cases", total, lambda: total - len(left), options.seconds):
        case, backend = names[name := left.pop(0)]
        growth = apart(measure_case, case, backend, repetitions[case])
        print(f"{name}: {growth}", flush=True)
        exceeds = growth.exceeds(LEFT_BEHIND[case])
        known[name] = asdict(growth) | {"grown": growth.grown, "exceeds": exceeds}
        record["date"] = today()
        record.write()
    return 1 if any(case["exceeds"] for case in known.values()) else 0
