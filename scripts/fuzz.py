"""`campaigns.py models` and `campaigns.py extremes`: models that nobody would make.

Hypothesis mutates bundled, random and hand-made models, and `check`, `rewrite` and sessions of both
backends get them, in child processes with limits of time and memory. Each has to end in a result or
a `SonnxError`. What came of them is recorded in docs/records/fuzzing.json. A model that fails ends
it: the smallest such model is written to build/fuzzing. `--only NUMBER` tries the batch of a number
again, and records nothing.

`campaigns.py commands` gives all commands hostile files: cut, flipped, with texts that are not
UTF-8, functions that double, loops without an end, damaged external data and vectors. Each command
has to end in a result or a sentence, within its limits, and leaves no half of a file. `--count` of
them, from number `--seed` on; `--only` names what is done to the files. None are recorded.

The extremes go through every operator of onnx instead, attribute by attribute and input by input,
with extreme values, and are not recorded: `--count` of them, which follow from `--seed`.
"""

import contextlib
import importlib
import math
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import hypothesis
from ages import sources_of
from environment import ROOT
from fuzzing.attempt import FuzzedModel, attempt, attempt_alone
from fuzzing.child import End, Ended, Fault, call_in_child
from fuzzing.extremes import extreme_model, extremes
from fuzzing.models import fuzzed_models, handmade_models
from hypothesis.database import DirectoryBasedExampleDatabase
from records import RECORDS, Record, add, make_parser, steps, versions_of

import sonnx_ort
from sonnx_ort.backends import Backend

RECORD = RECORDS / "fuzzing.json"
_FOUND = ROOT / "build" / "fuzzing"
"""Where the models are that failed: Hypothesis's database, and the smallest ones."""

_PACKAGES = ("onnxruntime", "onnxruntime-extensions", "onnx", "onnx-ir", "numpy", "protobuf")
_SOURCES = sources_of("fuzzing.json")
_BATCH = 1000
"""How many models are tried before the record is written."""


def read_record(path: Path, *, anew: bool = False) -> Record:
    """Go on with a record of the same sources and versions, or begin one.

    Its `faults` are neither results nor `SonnxError`s, with the number of their batch, and
    `runtimes_own` what ONNX Runtime alone does with the same model as well.
    """
    return Record(path, anew=anew, made_by=versions_of(_PACKAGES, _SOURCES), **nothing())


def nothing() -> dict[str, Any]:
    """What a record or a batch has before anything is tried."""
    return {"models": 0, "outcomes": Counter[str](), "faults": [], "runtimes_own": []}


def run(arguments: Sequence[str]) -> int:
    """Go on until so many models have been tried or one fails; give 1 if there are faults."""
    taken = {"count": 100_000, "processes": 1, "only": "", "seconds": math.inf}
    options = make_parser(__doc__, RECORD, **taken).parse_args(arguments)
    _import_all()
    if options.only:
        batch = try_batch(int(options.only), _BATCH)
        print(*(batch["faults"] or sorted(batch["outcomes"].items())), sep="\n")
        return 1 if batch["faults"] else 0
    record = read_record(options.record, anew=options.anew)

    def done() -> int:
        return options.count if record["faults"] else int(record["models"])

    with ProcessPoolExecutor(options.processes, mp_context=get_context("fork")) as executor:
        for _ in steps("models", options.count, done, options.seconds):
            wanted = options.count - record["models"]
            size = min(_BATCH, -(-wanted // options.processes))
            firsts = range(record["models"], options.count, size)[: options.processes]
            sizes = [min(size, options.count - first) for first in firsts]
            for batch in executor.map(try_batch, firsts, sizes):
                add(record, batch)
            record.write()
    faults = record["faults"]
    print(f"{record['models']} models, {len(faults)} faults: {options.record}", *faults)
    return 1 if faults else 0


def run_extremes(arguments: Sequence[str]) -> int:
    """Try so many models with something extreme; give 1 if one ends otherwise than it should."""
    options = make_parser(__doc__, None, count=4000, seed=0, processes=2).parse_args(arguments)
    known, seed = list(extremes()), options.seed
    chosen = random.Random(seed).sample(range(len(known)), min(options.count, len(known)))  # noqa: S311
    isolated = importlib.import_module("support.soundness.isolated")
    numbers = [seed * len(known) + index for index in chosen]
    lines = isolated.run_attempts("fuzzing.extremes:attempt", numbers, options.processes)
    faults = [line for line in lines if "result" not in line]
    for line in faults:
        extreme, ended = known[line["number"] % len(known)], line.get("raised") or line
        _FOUND.mkdir(parents=True, exist_ok=True)
        path = _FOUND / f"extreme_{line['number']}.onnx"
        path.write_bytes(extreme_model(extreme, seed).SerializeToString())
        print(f"{extreme}: {ended}: {path}", flush=True)
    print(f"{len(chosen)} of {len(known)} extremes, {len(faults)} faults")
    print(*sorted(isolated.tally_of(lines).items()), sep="\n")
    return 1 if faults else 0


def run_commands(arguments: Sequence[str]) -> int:
    """Run so many commands on hostile files; give 1 if one ends otherwise than it should."""
    taken = {"count": 1000, "seed": 0, "only": "", "seconds": math.inf}
    options = make_parser(__doc__, None, **taken).parse_args(arguments)
    commands = importlib.import_module("fuzzing.commands")
    forks = importlib.import_module("support.forks")
    outcomes, longest, faults = Counter[str](), (0.0, ""), 0
    with tempfile.TemporaryDirectory() as place:
        trials = commands.Trials(Path(place), forks.ForkedPython)
        for _ in steps("commands", options.count, outcomes.total, options.seconds):
            number = options.seed + outcomes.total()
            tried = trials.tried(number, tuple(filter(None, [options.only])))
            outcomes[f"{tried.damage}: status {tried.outcome.partition(':')[0]}"] += 1
            longest = max(longest, (tried.seconds, f"{number}: {tried.line} ({tried.damage})"))
            if tried.fault:
                faults += 1
                print(f"{number}: {tried.line} ({tried.damage}): {tried.fault}", flush=True)
    print(f"{outcomes.total()} commands, {faults} faults; longest {longest[0]:.1f} s, {longest[1]}")
    print(f"largest memory of a process: {commands.largest_memory()} MB")
    print(*(f"{name}: {count}" for name, count in sorted(outcomes.items())), sep="\n")
    return 1 if faults else 0


def _import_all() -> None:
    """Have imported and computed what each fork would otherwise have to, without a session."""
    for model in handmade_models().values():
        for backend in Backend:
            with contextlib.suppress(sonnx_ort.SonnxError):
                sonnx_ort.rewrite(model, broadcast="explicit", backend=backend)


def try_batch(number: int, models: int) -> dict[str, Any]:
    """Try models that follow from a number, and those that failed before; one fault ends it."""
    batch, smallest = nothing(), [b""]

    @hypothesis.seed(number)
    @hypothesis.settings(
        max_examples=models,
        database=DirectoryBasedExampleDatabase(_FOUND / "database"),
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=(hypothesis.Phase.reuse, hypothesis.Phase.generate, hypothesis.Phase.shrink),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(fuzzed_models())
    def try_one(made: FuzzedModel) -> None:
        ended = call_in_child(partial(attempt, made))
        batch["models"] += 1
        batch["outcomes"].update(ended.outcomes)
        if ended.end is End.RESULT:
            return
        failure = {"number": number, **asdict(ended)}
        del failure["outcomes"]
        if is_runtimes_own(made, ended):
            batch["runtimes_own"].append(failure)
            return
        # The smallest one comes last.
        batch["faults"], smallest[0] = [failure], made.content
        raise Fault(f"{ended.end} in {ended.stage}: {ended.detail}")

    try:
        try_one()
    except (Fault, hypothesis.errors.Flaky):
        _FOUND.mkdir(parents=True, exist_ok=True)
        (_FOUND / f"{number}.onnx").write_bytes(smallest[0])
    return batch


def is_runtimes_own(made: FuzzedModel, ended: Ended) -> bool:
    """Whether ONNX Runtime alone dies or hangs as well; `check` and `rewrite` are never its own."""
    if ended.end is End.FAULT or not ended.stage.startswith(("session", "run")):
        return False
    return call_in_child(partial(attempt_alone, made)).end is not End.RESULT
