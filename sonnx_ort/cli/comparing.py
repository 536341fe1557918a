"""`sonnx-ort diff`, `repeat` and `audit`: values of runs, held against others."""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sonnx_ort.analysis.contracts import ContractSource
from sonnx_ort.cli.options import (
    PATH,
    TEXTS,
    by_name,
    command,
    examples,
    flag,
    option,
    read_values,
    subcommand,
    values_below,
)
from sonnx_ort.cli.output import STANDARD, ExitStatus, say, say_next, write_report
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.loading.saving import check_place, refuse_model
from sonnx_ort.loading.source import read
from sonnx_ort.options import PROFILE
from sonnx_ort.reporting.audit_report import AuditFormat
from sonnx_ort.reporting.next_steps import (
    GivenOptions,
    after_audit,
    after_cause,
    after_difference,
    after_repeat,
)
from sonnx_ort.runs.audit.audit import Audit
from sonnx_ort.runs.audit.audit import audit as audit_model
from sonnx_ort.runs.bodies import MOST_STEPS
from sonnx_ort.runs.diff.against_plain import AgainstPlain, against_plain, ways
from sonnx_ort.runs.diff.against_plain import repeat as repeat_runs
from sonnx_ort.runs.diff.difference import EXACT, Measure, Tolerance, compared, survey
from sonnx_ort.runs.input_shapes import Sizes
from sonnx_ort.runs.isolated_run import CPU, Level, Settings, available
from sonnx_ort.runs.limits import Limits
from sonnx_ort.runs.pairs import Runs, keep, kept, run_both
from sonnx_ort.runs.value_files import read_samples

app = subcommand()


def samples_of(model: str | Path, data: Path) -> dict[str, dict[str, Any]]:
    """The samples in a folder for a model."""
    return read_samples(data, [value.name for value in read(model).proto.graph.input])


def only_sample(model: Path, data: Path | None) -> dict[str, Any]:
    """The only sample in a folder for a model; an empty one without a folder."""
    samples = {"": {}} if data is None else samples_of(model, data)
    if len(samples) > 1:
        names = ", ".join(samples)
        raise SonnxError(f"'{data}' has {len(samples)} samples; name the folder of one: {names}")
    (sample,) = samples.values()
    return sample


_RUN = {
    "level": option(Level, "How far ONNX Runtime optimizes.", default=Level.NONE),
    "providers": option(
        str,
        "Execution providers, separated by commas.",
        metavar="NAMES",
        default=CPU[0],
        read=lambda names: tuple(name.strip() for name in names.split(",")),
    ),
}
"""The options of how ONNX Runtime runs a model."""


@command(
    app,
    *("inputs", "data", "sizes", "input_shapes", "seed", "contract", "time_limit", "memory_limit"),
    *("quiet",),
    own={
        "samples": option(
            int | None,
            "How many random samples to run, with seeds from --seed on.",
            metavar="N",
            least=1,
        ),
        "measure": option(
            Measure,
            "What differs: 'bits' of elements, or numbers by units in the last place ('ulp'), "
            "'absolute' or 'relative' to A.",
            default=Measure.BITS,
        ),
        "tolerance": option(
            float,
            "The largest difference that is none, in the measure.",
            metavar="NUMBER",
            default=0,
            least=0,
        ),
        **_RUN,
        "every": flag("List every value of A, node by node, and all nodes of --why.", "--all"),
        "save": option(PATH, "Write all values of both to a new folder.", metavar="FOLDER"),
        "saved": option(
            PATH,
            "Compare what --save has written, without a run; give no model.",
            "--from",
            metavar="FOLDER",
        ),
        "why": flag(
            "Run A alone, without optimizations and with them, and find which optimizers of ONNX "
            "Runtime change its outputs.",
            "--why",
        ),
        "level": option(Level, "How far --why optimizes.", default=Level.ALL),
        "threads": option(
            int | None, "How many threads --why compares with one.", metavar="N", least=2
        ),
    },
    epilog=examples(
        "sonnx-ort diff model.onnx enforced.onnx",
        "sonnx-ort diff model.onnx enforced.onnx --seed 7 --all",
        "sonnx-ort diff model.onnx enforced.onnx --input x=x.npy --input y=y.npy",
        "sonnx-ort diff model.onnx enforced.onnx --size n=320",
        "sonnx-ort diff model.onnx exported.onnx --data samples --measure ulp --tolerance 4",
        "sonnx-ort diff model.onnx exported.onnx --samples 1000 --measure relative",
        "sonnx-ort diff model.onnx exported.onnx --save runs",
        "sonnx-ort diff --from runs --measure relative --tolerance 0.001",
        "sonnx-ort diff model.onnx --why",
    ),
)
def diff(
    first: Annotated[
        str | None, typer.Argument(metavar="A", help="A model, such as the original.")
    ] = None,
    second: Annotated[
        str | None,
        typer.Argument(metavar="B", help="Another model with the same inputs."),
    ] = None,
    *,
    measure: Measure,
    tolerance: float,
    every: bool,
    save: Path | None,
    saved: Path | None,
    quiet: bool,
    why: bool,
    level: Level,
    threads: int | None,
    providers: tuple[str, ...],
    given: GivenOptions,
    **chosen: Any,
) -> None:
    """Run two models, and show where their values first differ.

    Compares all values that have the same name in both or are computed alike: bit by bit, or by a
    measure. Optimizations are off. Of many samples a table shows how far each value differs.

    Exit status 0: nothing differs; 1: a value differs or a run ends early; 2: unusable input.
    """
    from sonnx_ort.reporting.difference_report import cause_report, difference_report

    named = [model for model in (first, second) if model is not None]
    if len(named) != (0 if saved else 1 if why else 2) or (saved and why):
        raise SonnxError("name two models, one with --why, or none with --from")
    if not why and (threads or (level, providers) != (Level.ALL, CPU)):
        raise SonnxError("--level, --threads and --providers are for --why")
    if why and save:
        raise SonnxError("--save is for two models; give --save or --why, not both")
    if saved and any(chosen[name] for name in ("inputs", "data", "samples")):
        raise SonnxError("--from has the inputs; give no --input, --data or --samples")
    tolerated = Tolerance(measure, tolerance)
    if why:
        settings = Settings(level, available(providers), threads=threads or 0)
        with _plain(Path(named[0]), 1 if threads else 0, tolerated, **chosen) as plain:
            cause = plain.cause(settings)
        text = cause_report(cause, plain, named[0], every=every)
        differs = not cause.comparison.equal
        nodes = len(all_nodes(plain.model.proto))
        following = after_cause(Path(named[0]), given, nodes)
    else:
        models, runs = kept(saved) if saved else ((named[0], named[1]), _runs(*named, **chosen))
        runs = runs if save is None else keep(runs, save, models)
        found = survey((name, compared(each, tolerated)) for name, each in runs)
        text = difference_report(found, models, every=every)
        differs = bool(found.unequal)
        ended = [stop is not None for stop in found.shown[1].stops]
        following = after_difference(Path(models[0]), Path(models[1]), given, ended)
    if not quiet:
        say(text)
        say_next(following if differs else "")
    if differs:
        raise typer.Exit(ExitStatus.VIOLATED)


def _runs(
    first: str,
    second: str,
    *,
    inputs: Mapping[str, Path],
    data: Path | None,
    samples: int | None,
    sizes: Mapping[str, int],
    input_shapes: Mapping[str, tuple[int, ...]],
    seed: int,
    contract: ContractSource,
    time_limit: float,
    memory_limit: int | None,
) -> Iterator[tuple[str, Runs]]:
    """Run two models on each sample."""
    values = read_values(inputs)
    if samples is not None and samples > _MOST_SAMPLES:
        raise SonnxError(f"--samples {samples}: give at most {_MOST_SAMPLES:,}")
    given = {f"{each}": (values, each) for each in range(seed, seed + (samples or 1))}
    if data is not None:
        if samples is not None:
            raise SonnxError(f"'{data}' has the samples; give --data or --samples, not both")
        found = samples_of(first, data)
        given = {name: ({**sample, **values}, seed) for name, sample in found.items()}
    shapes = Sizes(sizes, input_shapes)
    limits = Limits(time_limit, memory_limit)
    how: dict[str, Any] = {"contract": contract, "limits": limits, "match_positions": True}
    runs = run_both(first, second, given.values(), shapes, **how)
    return zip(given, runs, strict=True)


_MOST_SAMPLES = 1_000_000
"""More are not run in days, and each is named in memory."""


def _plain(
    model: Path,
    threads: int,
    tolerance: Tolerance = EXACT,
    *,
    inputs: Mapping[str, Path],
    data: Path | None,
    sizes: Mapping[str, int],
    input_shapes: Mapping[str, tuple[int, ...]],
    time_limit: float,
    memory_limit: int | None,
    samples: int | None = None,
    **said: Any,
) -> AbstractContextManager[AgainstPlain]:
    """A plain run of a model on one sample."""
    if samples is not None:
        raise SonnxError("one model is run on one sample; give no --samples")
    given = only_sample(model, data) | read_values(inputs)
    shapes = Sizes(sizes, input_shapes)
    said |= {"sizes": shapes, "limits": Limits(time_limit, memory_limit)}
    return against_plain(model, given, threads=threads, tolerance=tolerance, **said)


@command(
    app,
    *("model", "inputs", "sizes", "input_shapes", "edition", "broadcast", "seed"),
    *("contract", "time_limit", "memory_limit", "output", "record", "quiet"),
    operators=PROFILE,
    settings=True,
    own={
        **_RUN,
        "values": option(
            PATH,
            "Audit the values that another implementation computed, not a run: NAME.npy for each "
            "value, with '_' for characters other than ASCII letters, digits, '.', '_', '-'.",
            metavar="FOLDER",
            reads=values_below,
        ),
        "save_values": option(
            PATH, "Write each audited value to NAME.npy in this folder.", metavar="FOLDER"
        ),
        "samples": option(
            int,
            "How many elements of each result are audited at most.",
            metavar="N",
            default=100,
            least=1,
        ),
        "exhaustive": flag(
            f"Audit all elements, and all steps of loops of at most {MOST_STEPS:,}.", "--exhaustive"
        ),
        "enclose_outputs": flag(
            "Also follow the exact values over the reals to the outputs, for at most ten million "
            "operations.",
            "--enclose",
        ),
        "errors": option(
            TEXTS,
            "Also bound the error of every float value, as the numerical-accuracy documents do. "
            "This input is off by at most this number, and inputs without --error are exact.",
            "--error",
            metavar="NAME=NUMBER",
            read=lambda given: (
                by_name("--error", "NAME=E, such as x=0.001", float, given) if given else None
            ),
        ),
        "report_format": option(
            AuditFormat, "The format of the report.", "--format", default=AuditFormat.TEXT
        ),
        "every": flag("Show every node.", "--verbose", "-v"),
    },
    epilog=examples(
        "sonnx-ort audit model.onnx --input x=x.npy",
        "sonnx-ort audit model.onnx --input-shape x=1,3,48,320",
        "sonnx-ort audit model.onnx --level all --exhaustive",
        "sonnx-ort audit model.onnx --error x=0.001",
        "sonnx-ort audit model.onnx --values values/",
        "sonnx-ort audit model.onnx --enclose --format html -o audit.html",
    ),
)
def audit(
    context: typer.Context,
    model: Path,
    inputs: Mapping[str, Path],
    report_format: AuditFormat,
    output: str,
    record: Path | None,
    every: bool,
    quiet: bool,
    given: GivenOptions,
    **choices: Any,
) -> None:
    """Run a model once, and hold every result to the exact meaning of its operator.

    Each node is compared with the exact result for the very operands that it was given. Large
    results are sampled.

    Exit status 0: all results are exact, admitted or not known; 1: a result is outside the admitted
    error; 2: unusable input.
    """
    from sonnx_ort.cli.progress import working_on
    from sonnx_ort.evidence.making import check_place_of_record

    before = ""
    if output != STANDARD:
        check_place(Path(output))
        refuse_model(Path(output), model, read(model).proto)
    if record is not None:
        found = read(model)
        check_place_of_record(record, found.proto, model)
        before = found.sha256
    with working_on(str(model), quiet=quiet):
        made = audit_model(model, read_values(inputs), **choices)
    made = replace(made, settings=context.obj.settings.name)
    if record is not None:
        _record(made, model, before, record, choices)
    nodes, level = len(made.nodes), choices["level"]
    following = "" if made.ok else after_audit(model, given, level, nodes)
    write_report(
        output,
        lambda coloured: _text(
            made, model, report_format, following, coloured=coloured, every=every
        ),
        quiet=quiet,
    )
    if not quiet and (report_format is AuditFormat.TEXT or output != STANDARD):
        say_next(following)
    if not made.ok:
        raise typer.Exit(ExitStatus.VIOLATED)


def _record(
    made: Audit, model: Path, before: str, record: Path, choices: Mapping[str, Any]
) -> None:
    """Write the record of an audit, before which the SHA-256 of the file was this.

    Raises:
        SonnxError: The file has changed since.
    """
    from sonnx_ort.api.checking import check
    from sonnx_ort.cli.settings import contract_file
    from sonnx_ort.evidence.making import record_check
    from sonnx_ort.reporting.audit_document import audit_document

    demanded = {name: choices[name] for name in ("edition", "broadcast", "operators", "contract")}
    report = check(model, **demanded)
    if report.identity.sha256 != before:
        raise SonnxError(f"'{model}' was changed while it was audited; audit it again")
    report = replace(
        report, settings=made.settings, contract_file=contract_file(choices["contract"])
    )
    record_check(model, report, record, audits=[audit_document(made)])


def _text(
    made: Audit,
    model: Path,
    report_format: AuditFormat,
    following: str,
    *,
    coloured: bool,
    every: bool,
) -> str:
    from sonnx_ort.reporting.audit_document import audit_json
    from sonnx_ort.reporting.audit_page import audit_page
    from sonnx_ort.reporting.audit_report import audit_junit, audit_text

    match report_format:
        case AuditFormat.TEXT:
            return audit_text(made, coloured=coloured, every=every)
        case AuditFormat.JSON:
            return audit_json(made)
        case AuditFormat.JUNIT:
            return audit_junit(made)
        case AuditFormat.HTML:
            return audit_page(made, model, following)


@command(
    app,
    *("model", "inputs", "data", "sizes", "input_shapes", "seed", "contract", "time_limit"),
    *("memory_limit", "quiet"),
    own={
        "runs": option(
            int, "How often it runs with each setting.", metavar="N", default=3, least=1
        ),
        "threads": option(
            int | None,
            "Up to how many threads it runs on.  [default: as many as processors]",
            metavar="N",
            least=1,
        ),
        "providers": _RUN["providers"],
    },
    epilog=examples(
        "sonnx-ort repeat model.onnx",
        "sonnx-ort repeat model.onnx --runs 10 --threads 8 --input x=x.npy",
    ),
)
def repeat(
    model: Path,
    quiet: bool,
    runs: int,
    threads: int | None,
    providers: tuple[str, ...],
    given: GivenOptions,
    **chosen: Any,
) -> None:
    """Run a model with many settings, and show whether the bits are the same.

    Again, in new processes, on more threads, with nodes in parallel, with bound inputs and outputs,
    and optimized. Each run is compared with one without optimizations on one thread.

    Exit status 0: nothing differs; 1: a run differs or ends early; 2: unusable input.
    """
    from sonnx_ort.reporting.difference_report import repeat_report

    with _plain(model, 1, **chosen) as plain:
        all_ways = ways(plain.plain, threads or os.cpu_count() or 1, available(providers))
        found = list(repeat_runs(plain, list(all_ways), runs))
        differs = any(each.unequal for each in found)
        if not quiet:
            say(repeat_report(found, plain, str(model)))
            say_next(after_repeat(model, given) if differs else "")
    if differs:
        raise typer.Exit(ExitStatus.VIOLATED)
