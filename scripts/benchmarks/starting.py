"""`benchmark.py sessions`: what it takes to start a session, in time and in memory."""

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import onnx
from model_builders.graphs import parse
from plain_sessions import PROVIDERS, make_options, start

from benchmarks import report
from benchmarks.turns import Run, Turn, apart, ratio_of, seconds_of, take_turns
from sonnx_ort import Backend, InferenceSession, models, register, rewrite

PLAIN = "ONNX Runtime"
REWRITE = "rewrite"
REWRITTEN = "ONNX Runtime, rewritten"
OURS = "InferenceSession"
"""What takes turns: a session of ONNX Runtime on the model as it is and on what `rewrite` makes of
it, the rewrite alone, and our session, which does both and looks at the optimized graph."""

_BUNDLED = ("div_int32", "normalization_broadcast", "digits")
_LAYERS = 16
_STATUS = Path("/proc/self/status")
_RESET_PEAK = Path("/proc/self/clear_refs")

_EXPLANATION = """\
Times of starting a session on one thread, minimum / median of turns in one process, from the file
or the bytes until it can run. `rewrite` gives a model with all its weights, which InferenceSession
does not need. Memory is what the peak of a process grows by, and what is held afterwards, each in
a process of its own: ONNX Runtime -> InferenceSession. The caller's own bytes do not count."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model and its file, whose name is given to a session, or its content as bytes."""

    name: str
    path: Path
    as_bytes: bool = False

    def source(self) -> str | bytes:
        """What a session is made of."""
        return self.path.read_bytes() if self.as_bytes else str(self.path)


@dataclass(frozen=True, slots=True)
class Memory:
    """What starting a session takes, in bytes; None where the system does not say."""

    peak: int | None
    held: int | None


def run(arguments: Sequence[str]) -> int:
    """Measure each model and print it."""
    description = "Measure what it takes to start a session on bundled, given and large models."
    parser = report.make_parser("sessions", description, 3.0, backend=True, markdown=True)
    parser.add_argument(
        "models", nargs="*", type=Path, metavar="MODEL", help="more models: files, or folders"
    )
    parser.add_argument(
        "--megabytes",
        type=report.positive(float),
        default=1000.0,
        metavar="N",
        help="the weights of the large model (default: %(default)s; takes four times as much disk "
        "and memory)",
    )
    options = parser.parse_args(arguments)
    report.print_heading("sessions", arguments, f"{_EXPLANATION}\n")
    rows: list[report.Row] = []
    with _subjects(options.models, options.megabytes) as subjects:
        for subject in subjects:
            turns = apart(_time, subject, options.backend, options.seconds)
            plain, ours = (apart(_memory, subject, n, options.backend) for n in (PLAIN, OURS))
            rows.append(row(subject.name, turns, plain, ours))
            report.print_row(rows[-1], titles=len(rows) == 1, first_width=40)
    if options.markdown is not None:
        options.markdown.write_text(report.markdown_table(rows), encoding="utf-8")
    return 0


def row(name: str, turns: Sequence[Turn], plain: Memory, ours: Memory) -> report.Row:
    """What was taken for a model: the seconds of each start, and the memory of both sessions."""
    figures = {what: seconds_of(turns, what).times(1e3) for what in turns[0]}
    return {
        "model": name,
        **{f"{what}, ms": report.both(figure) for what, figure in figures.items()},
        "over ONNX Runtime": f"{ratio_of(turns, OURS, PLAIN):.2f}",
        "peak, MB": f"{_megabytes(plain.peak)} -> {_megabytes(ours.peak)}",
        "held, MB": f"{_megabytes(plain.held)} -> {_megabytes(ours.held)}",
    }


def make_weighted(megabytes: float, folder: Path) -> tuple[Path, Path]:
    """Make a model of Div after MatMul, with weights of a given size.

    Returns:
        A file with the weights in it, and one with the same weights as external data.
    """
    size = max(int((megabytes * 2**20 / 4 / _LAYERS) ** 0.5), 1)
    random = np.random.default_rng(0)
    weights = {f"w{n}": random.standard_normal((size, size), np.float32) for n in range(_LAYERS)}
    nodes = (f"h{n} = MatMul(x{n}, w{n}) [d{n}] x{n + 1} = Div(h{n}, y)" for n in range(_LAYERS))
    model = parse(
        f"(float[n,{size}] x0, float[m,{size}] y) => (float[] x{_LAYERS}) {{ {' '.join(nodes)} }}",
        opset=21,
        constants=weights,
        ir_version=10,
    )
    whole, external = folder / "whole.onnx", folder / "external.onnx"
    onnx.save(model, whole)
    onnx.save(model, external, save_as_external_data=True, location="external.data")
    return whole, external


@contextmanager
def _subjects(files: Sequence[Path], megabytes: float) -> Iterator[list[Subject]]:
    chosen = [Subject(name, models.path(name)) for name in _BUNDLED]
    for file in files:
        found = sorted(file.rglob("*.onnx")) if file.is_dir() else [file]
        chosen += [Subject(path.stem, path) for path in found]
    with tempfile.TemporaryDirectory() as folder:
        whole, external = make_weighted(megabytes, Path(folder))
        size = f"{megabytes:g} MB of weights"
        chosen += [
            Subject(f"{size}, external data", external),
            Subject(f"{size}, in the file", whole),
            Subject(f"{size}, bytes", whole, as_bytes=True),
        ]
        yield chosen


def _starts(subject: Subject, backend: str) -> dict[str, Run]:
    source = subject.source()

    def rewritten() -> onnx.ModelProto:
        return rewrite(source, broadcast="explicit", backend=Backend(backend))

    enforced = rewritten().SerializeToString()
    return {
        PLAIN: partial(start, source),
        REWRITTEN: lambda: start(enforced, register(make_options())),
        REWRITE: rewritten,
        OURS: partial(_start_ours, source, backend),
    }


def _start_ours(source: str | bytes, backend: str) -> InferenceSession:
    return InferenceSession(
        source, make_options(), broadcast="explicit", backend=Backend(backend), providers=PROVIDERS
    )


def _time(subject: Subject, backend: str, seconds: float) -> list[Turn]:
    starts = _starts(subject, backend)
    for warm_up in starts.values():
        warm_up()
    return take_turns(starts, seconds, PLAIN)


def _memory(subject: Subject, name: str, backend: str) -> Memory:
    # Whatever is imported and set up once is not counted.
    _start_ours(str(models.path(_BUNDLED[0])), backend)
    source = subject.source()
    before = _reset_peak()
    session = _start_ours(source, backend) if name == OURS else start(source)
    peak, held = _kilobytes("VmHWM"), _kilobytes("VmRSS")
    del session
    if before is None or peak is None or held is None:
        return Memory(None, None)
    return Memory((peak - before) * 1024, (held - before) * 1024)


def _reset_peak() -> int | None:
    """Forget the peak so far where the system can do that, and give what is held."""
    if not _RESET_PEAK.exists():
        return None
    _RESET_PEAK.write_text("5", encoding="ascii")
    return _kilobytes("VmRSS")


def _kilobytes(figure: str) -> int | None:
    if not _STATUS.exists():
        return None
    found = re.search(rf"^{figure}:\s+(\d+) kB", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    return None if found is None else int(found[1])


def _megabytes(size: int | None) -> str:
    return "unknown" if size is None else report.number(size / 2**20)
