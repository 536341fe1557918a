"""Commands with files that nobody would give them: each has to end in a result or a sentence."""

import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from model_builders.graphs import parse
from onnx import helper, numpy_helper

import sonnx_ort
from fuzzing.models import handmade_models
from sonnx_ort import models
from sonnx_ort.vectors.cases import cases
from sonnx_ort.vectors.suite import write

COMMANDS = (
    "check {m}",
    "check {m} --operators profile --verbose --no-forecast",
    "check {m} --format html -o {o}.html",
    "check {m} --annotate {o}.onnx --quiet",
    "check {m} --record {o}.json --no-forecast",
    "rewrite {m} -o {o}.onnx",
    "rewrite {m} -o {o}.onnx --backend native --operators all",
    "rewrite {m} -o {o}.onnx --backend compiled --conform --broadcast explicit",
    "rewrite {m} -o -",
    "conform {m} -o {o}.onnx --rounding",
    "conform {m} -o {o}.onnx --verify",
    "conform {m} --diff",
    "certify {m} -o {o}.json",
    "certify {m} --check {m}",
    "verify {m} {m}",
    "run {m}",
    "run {m} --backend native --verify-proofs",
    "run {m} --size n=2 --output-dir {o}",
    "diff {m} {m}",
    "diff {m} --why",
    "diff {m} {m} --samples 2 --save {o}",
    "repeat {m} --runs 1 --threads 1",
    "reduce {m} -o {o}.onnx --dies --tries 8",
    "reduce {m} -o {o}.onnx --differs --tries 8",
    "reduce {m} -o {o}.onnx --violates Div --tries 8",
    "reduce {m} -o {o}.onnx --check true --tries 8 --anonymous",
    "audit {m}",
    "audit {m} --level all --enclose",
    "audit {m} --error x=0.001 --save-values {o}",
    "contract {m} -o {o}.toml",
    "contract {m} --checkpoints",
    "suite --run {s} --operators Neg",
    # Values that nobody would give.
    "run {m} --input x={m}",
    "run {m} --input-shape x=-1,999999999999",
    "run {m} --size n=99999999999999",
    "diff {m} {m} --contract {m}",
    "rewrite {m} -o {o}.onnx --waivers {m}",
    'reduce {m} -o {o}.onnx --check "\'"',
    "audit {m} --time-limit nan",
    "audit {m} --data {s}",
)
"""What is tried: {m} is the model, {o} what is written, {s} a folder of vectors."""

_LIMITED = ("audit", "conform", "contract", "diff", "reduce", "repeat", "run")
_SECONDS, _MEGABYTES, _PATIENCE = 20, 2000, 300
"""The limit of a run, and how long a command may take with all of its runs."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a command.

    Attributes:
        line: The command.
        damage: What was done to its files.
        fault: What it did that it should not; empty if nothing.
        outcome: Its status, and the beginning of what it said.
        seconds: How long it took.
    """

    line: str
    damage: str
    fault: str
    outcome: str
    seconds: float


@dataclass
class _Files:
    """The files of a trial."""

    folder: Path
    draw: random.Random
    model: Path = field(init=False)

    def __post_init__(self) -> None:
        self.model = self.folder / "m.onnx"


def _seeds() -> dict[str, bytes]:
    """Models to be damaged, by name."""
    small = (Path(models.path(name)) for name in models.names())
    found = {path.stem: path.read_bytes() for path in small if path.stat().st_size < 1 << 14}
    found |= {name: each.SerializeToString() for name, each in handmade_models().items()}
    enforced = parse(
        "(float[n] x, float[m] y) => (float[k] z) { [ratio] a = Div(x, y) [minus] z = Sub(a, y) }"
    )
    for backend in ("native", "python", "compiled"):
        made = sonnx_ort.rewrite(enforced, backend=backend)
        found[f"enforced, {backend}"] = made.SerializeToString()
    return found


def _none(files: _Files, content: bytes) -> None:
    files.model.write_bytes(content)


def _cut(files: _Files, content: bytes) -> None:
    files.model.write_bytes(content[: files.draw.randrange(len(content) + 1)])


def _flip(files: _Files, content: bytes) -> None:
    changed = bytearray(content)
    for _ in range(files.draw.choice((1, 1, 2, 8))):
        changed[files.draw.randrange(len(changed))] ^= 1 << files.draw.randrange(8)
    files.model.write_bytes(changed)


_WORD = re.compile(rb"[A-Za-z_][\w. :/'-]{2,}")


def _no_text(files: _Files, content: bytes) -> None:
    """One text, such as a name or a key of metadata, is not UTF-8."""
    words = list(_WORD.finditer(content))
    chosen = files.draw.choice(words)
    changed = bytearray(content)
    changed[chosen.end() - 1] = 0xB4
    files.model.write_bytes(changed)


def _texts(files: _Files, content: bytes) -> None:
    """Texts that a model need not have are there, and are not UTF-8."""
    model = onnx.load_from_string(content)
    mark = "abcdefgh"
    model.producer_name = model.doc_string = model.graph.doc_string = mark
    model.metadata_props.add(key=mark, value=mark)
    for node in model.graph.node[:1]:
        node.doc_string = mark
        node.metadata_props.add(key=mark, value=mark)
    places = [each.start() for each in re.finditer(mark.encode(), model.SerializeToString())]
    changed = bytearray(model.SerializeToString())
    changed[files.draw.choice(places)] = 0xFF
    files.model.write_bytes(changed)


def _double(files: _Files, content: bytes) -> None:
    """Functions call the next one twice, or themselves."""
    del content
    operator, depth = files.draw.choice(("Div", "Relu")), files.draw.choice((8, 16, 20, 64))
    model = parse("(float[n] x) => (float[k] z) { z = l.F0(x) }", domains={"l": 1})
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("l", 1)]
    last = files.draw.choice((operator, "F0"))
    for number in range(depth):
        called = f"F{number + 1}"
        nodes = [helper.make_node(called, [a], [b], domain="l") for a, b in ("ab", "bc")]
        model.functions.append(
            helper.make_function("l", f"F{number}", ["a"], ["c"], nodes, imports)
        )
    inputs = ["a", "a"] if last == "Div" else ["a"]
    node = helper.make_node(last, inputs, ["c"], domain="l" if last == "F0" else "")
    model.functions.append(helper.make_function("l", f"F{depth}", ["a"], ["c"], [node], imports))
    onnx.save(model, files.model)


_ENDLESS = """(float[n] x) => (float[k] z) {
    t = Constant<value_int = 1>() most = Constant<value_int = 9223372036854775807>()
    go = Cast<to = 9>(t)
    z = Loop(most, go, x) <body = b (int64 i, bool c, float[n] s) => (bool d, float[n] r)
        { d = Identity(c) r = Div(s, s) }>
}"""

_LARGE = """(float[n] x) => (float[k] z) {{
    s = Constant<value_ints = [{}]>() b = ConstantOfShape(s) c = Add(b, b) d = Div(c, c)
    z = ReduceSum<keepdims = 0>(d)
}}"""


def _without_end(files: _Files, content: bytes) -> None:
    """A loop that does not end, or a tensor that no memory holds."""
    del content
    sizes = ("2000000000", "100000, 100000", "9223372036854775807, 2", "1000000")
    text = files.draw.choice((_ENDLESS, *map(_LARGE.format, sizes)))
    onnx.save(parse(text), files.model)


def _external(files: _Files, content: bytes) -> None:
    """External data is missing, cut, elsewhere, a link, a folder or a pipe."""
    del content
    model = parse("(float[2, 4] x) => (float[2, 4] y) { y = Div(x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.full((2, 4), 2, np.float32), "w"))
    onnx.save(model, files.model, save_as_external_data=True, location="w.bin", size_threshold=0)
    weights, other = files.folder / "w.bin", files.folder / "elsewhere"
    other.mkdir()
    damage = files.draw.choice(
        ("none", "missing", "cut", "link", "link out", "link to itself", "folder", "pipe", "hub")
    )
    match damage:
        case "cut":
            weights.write_bytes(weights.read_bytes()[:7])
        case "link" | "hub":
            weights.rename(other / "bbb")
            weights.symlink_to(other / "bbb")
        case "missing" | "link out" | "link to itself" | "folder" | "pipe":
            weights.unlink()
    match damage:
        case "link out":
            weights.symlink_to("/etc/passwd")
        case "link to itself":
            weights.symlink_to(weights)
        case "folder":
            weights.mkdir()
        case "pipe":
            os.mkfifo(weights)
        case "hub":
            files.model.rename(other / "aaa")
            files.model.symlink_to(other / "aaa")
    if files.draw.random() < 0.3:
        loaded = onnx.load(files.model, load_external_data=False)
        entries = loaded.graph.initializer[0].external_data
        entry = files.draw.choice(list(entries))
        entry.value = files.draw.choice(("", "../w.bin", "/etc/passwd", "-1", "9" * 30, "\0", "w"))
        files.model.write_bytes(loaded.SerializeToString())


def _vectors(files: _Files, content: bytes) -> None:
    """A file of a suite is missing, cut, flipped, or one that should not be there."""
    files.model.write_bytes(content)
    paths = sorted(path for path in (files.folder / "s").rglob("*") if path.is_file())
    path = files.draw.choice(paths)
    known = path.read_bytes()
    match files.draw.choice(("missing", "cut", "flipped", "more", "less", "folder")):
        case "missing":
            path.unlink()
        case "cut":
            path.write_bytes(known[: files.draw.randrange(len(known))])
        case "flipped":
            path.write_bytes(known[:-1] + bytes([known[-1] ^ 1]))
        case "more":
            path.with_name("output_7.pb").write_bytes(known)
        case "less":
            shutil.rmtree(path.parent)
        case "folder":
            path.unlink()
            path.mkdir()


DAMAGES: Mapping[str, Callable[[_Files, bytes], None]] = {
    "none": _none,
    "cut": _cut,
    "flipped": _flip,
    "no text": _no_text,
    "texts": _texts,
    "doubling": _double,
    "without end": _without_end,
    "external": _external,
    "vectors": _vectors,
}
"""What is done to the files."""


class Trials:
    """Runs commands of numbers, one after the other, in forks of this process."""

    def __init__(self, place: Path, start: Callable[..., subprocess.Popen[bytes]]) -> None:
        """Prepare what all trials begin with; `start` starts a process, as `subprocess.Popen`."""
        self._start = start
        self._seeds = _seeds()
        self._suite = place / "suite"
        write(cases(["Neg"]), self._suite, 0)

    def tried(self, number: int, damages: tuple[str, ...] = ()) -> Tried:
        """Run the command of a number, on files that follow from it."""
        draw = random.Random(number)  # noqa: S311 - a seed
        line = COMMANDS[number % len(COMMANDS)]
        known = damages or tuple(DAMAGES)
        damage = "vectors" if line.startswith("suite") else draw.choice(known)
        content = self._seeds[draw.choice(sorted(self._seeds))]
        with tempfile.TemporaryDirectory(prefix="commands-") as name:
            folder = Path(name)
            shutil.copytree(self._suite, folder / "s")
            DAMAGES[damage](_Files(folder, draw), content)
            given = {path.name for path in folder.iterdir()}
            line = line.format(m="m.onnx", o="o", s="s")
            words = [word.replace('"', "") for word in line.split()]
            if words[0] in _LIMITED and "--time-limit" not in words:
                words += ["--time-limit", str(_SECONDS), "--memory-limit", str(_MEGABYTES)]
            begun = time.monotonic()
            status, said = self._ended(words, folder)
            seconds = time.monotonic() - begun
            left = {path.name for path in folder.iterdir()} - given
        return Tried(line, damage, _fault(status, said, left), f"{status}: {said[:60]}", seconds)

    def _ended(self, words: list[str], folder: Path) -> tuple[int | None, str]:
        """The status of a command, and what it says; no status if it does not end."""
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as shown:
            process = self._start(
                [sys.executable, "-m", "sonnx_ort", *words],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=shown,
                stderr=said,
            )
            try:
                status: int | None = process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = None
            said.seek(0)
            return status, said.read().decode(errors="replace").strip()


_UNFORESEEN = ("internal error", "Traceback", "the memory does not suffice")
"""What no command should say."""


def _fault(status: int | None, said: str, left: set[str]) -> str:
    """What a command did that it should not, which ended so, said this and left these files."""
    if status is None:
        return f"it does not end in {_PATIENCE} s"
    told = said[-400:]
    if status not in {0, 1, 2} or any(wrong in said for wrong in _UNFORESEEN):
        return f"it ends with status {status}: {told}"
    if status == _UNUSABLE and not said:
        return "it says nothing"
    if (status == _UNUSABLE and left) or any(name.startswith(".") for name in left):
        return f"it leaves {sorted(left)}: {told}"
    return ""


_UNUSABLE = 2


def largest_memory() -> int:
    """The MB of memory that the largest process so far had, of those that have ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1000
