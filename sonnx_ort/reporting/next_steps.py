"""What takes a user on: the step that follows a report or a command, as a line to type.

A line keeps the options that the command line gave, as far as the next command has them.
"""

import enum
import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.backends import installed_backend
from sonnx_ort.errors import printable
from sonnx_ort.errors.remedies import Remedy
from sonnx_ort.options import PROFILE, name_operators
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS, WHOLE_PROFILE
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.graph import EDGES
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.profile.rule import Subject
from sonnx_ort.terms.operand import broadcast_shape

GivenOptions = Mapping[str, tuple[str, ...]]
"""Options that a command line gives, by parameter: each as its words, with the name in front."""

NOTHING: GivenOptions = MappingProxyType({})
"""No option is given."""

_DEMANDS = ("edition", "broadcast", "operators")
_SELECTIONS = ("select", "ignore", "rules")
_INPUTS = ("inputs", "sizes", "input_shapes", "seed")
_LIMITS = ("time_limit", "memory_limit")

KEPT: Mapping[str, tuple[str, ...]] = {
    "check": (*_DEMANDS, "backend", "select", "ignore", "rules", "waivers", "contract"),
    "conform": (*_DEMANDS, "contract", "select", "ignore", "data", *_INPUTS, *_LIMITS),
    "rewrite": (*_DEMANDS, "backend", "conform", "waivers", "contract"),
    "run": (*_DEMANDS, "backend", "conform", "waivers", "contract", *_INPUTS, *_LIMITS),
    "audit": (*_DEMANDS, "level", "contract", *_INPUTS, *_LIMITS),
    "reduce": (*_DEMANDS, "level", "contract", "data", *_INPUTS, *_LIMITS),
    "diff": ("level", "threads", "providers", "contract", "data", *_INPUTS, *_LIMITS),
    "certify": ("edition", "operators", "contract"),
    "verify": (),
    "explain": (),
    "suite": (),
}
"""The options that each command takes over from the one before."""

OF_ENFORCED = ("edition", "waivers", *_INPUTS, *_LIMITS)
"""What has to be said again of a model that is enforced; the rest stands in its metadata."""


_FEW = 3
"""A model of so few nodes needs no reduction."""


class NextStep(enum.Enum):
    """What takes a user on from a report."""

    CHECK_ALL = enum.auto()
    """Nothing is enforced, or a violation is left out: check all operators and rules."""

    REWRITE = enum.auto()
    """Nothing is violated."""

    EXPAND = enum.auto()
    """Rewrite, with the broadcasts written out: that fixes every violation."""

    CONFORM = enum.auto()
    """`conform` fixes at least one violation, or names an option that may."""

    EXPLAIN = enum.auto()
    """Only the author of the model can fix it: have the first violated rule explained."""


def next_step(report: Report) -> NextStep:
    """What takes a user on from a report."""
    if not report.enforced or (report.ok and report.left_out.violated):
        return NextStep.CHECK_ALL
    if report.ok:
        return NextStep.REWRITE
    if all(map(_is_expandable, report.violations)):
        return NextStep.EXPAND
    conforms = any(o.mendable or o.advice or o.rule in _FIXED_BY_OPTIONS for o in report.violations)
    return NextStep.CONFORM if conforms else NextStep.EXPLAIN


_FIXED_BY_OPTIONS = (EDGES,)
"""Rules that `conform` fixes with options that state something, which it names if it is run."""


def _is_expandable(violation: Obligation) -> bool:
    """Whether a violation is a broadcast, which `rewrite` writes out if it is told to."""
    shapes = [operand.shape for operand in violation.operands]
    is_broadcast = violation.rule.requirement.subject is Subject.EQUAL_SHAPES
    return is_broadcast and broadcast_shape(*shapes) is not None


def shell(words: Iterable[str]) -> str:
    """A command line of words, with the quotes that the shell of this system needs."""
    join = subprocess.list2cmdline if os.name == "nt" else shlex.join
    return printable(join(list(words)))


def command_line(
    verb: str, *words: str, given: GivenOptions = NOTHING, **more: tuple[str, ...]
) -> str:
    """A command line of `sonnx-ort`.

    Args:
        verb: The command.
        *words: Its arguments, and options that the line before does not have.
        given: The options of the line before; those that the command has are kept.
        **more: Options that replace these, by parameter; an empty one leaves the option out.
    """
    options = {**given, **more}
    kept = (word for name in KEPT[verb] for word in options.get(name, ()))
    return shell(["sonnx-ort", verb, *words, *kept])


def file_word(path: str | PurePath) -> str:
    """A path as a word that is no option."""
    text = str(path)
    return f"./{text}" if text.startswith("-") else text


def beside(model: str, ending: str) -> str:
    """The name of a file beside a model, as a word: `m.enforced.onnx` beside `m.onnx`."""
    path = PurePath(model)
    return file_word(path.with_name(f"{path.stem}.{ending}"))


def next_command(report: Report, name: str, given: GivenOptions = NOTHING) -> str:
    """The command that takes a user on from the report of a model.

    Violations ask for `rewrite` or `conform` if one of these fixes any, else for an explanation.

    Args:
        report: The report.
        name: The file of the model; "-" is standard input.
        given: The options of the command line. What the report itself says is kept without them.
    """
    file = "model.onnx" if name == "-" else name
    options = {**_of_report(report), **given}
    match next_step(report):
        case NextStep.CHECK_ALL:
            named = ("--operators", PROFILE) if report.settings else ()
            kept = {name: words for name, words in options.items() if name not in _SELECTIONS}
            return command_line("check", file_word(file), given=kept, operators=named)
        case NextStep.REWRITE:
            return rewriting(file, options)
        case NextStep.EXPAND:
            return rewriting(file, options, broadcast=("--broadcast", Broadcasting.EXPLICIT))
        case NextStep.CONFORM:
            further = [Remedy("rounding")] if _only_rounding(report) else []
            return conform_with(file, options, further)
        case NextStep.EXPLAIN:
            return command_line("explain", report.violations[0].rule.id)


def conform_with(name: str, given: GivenOptions, remedies: Iterable[Remedy]) -> str:
    """The command that conforms a checked model with further options, and writes a file.

    Options that a person has to choose are left out.
    """
    words = [file_word(name), "-o", beside(name, "conforming.onnx")]
    further = (word for each in remedies if each.value is not None for word in each.words)
    return command_line("conform", *words, *further, given=given)


def _only_rounding(report: Report) -> bool:
    """Whether `conform` fixes violations, and each of them by a change that rounds."""
    return not report.mendable and any(o.mendable for o in report.violations)


def rewriting(model: str, given: GivenOptions, **more: tuple[str, ...]) -> str:
    """The command that enforces a model, and records it."""
    words = ["-o", beside(model, "enforced.onnx"), "--record", beside(model, "record.json")]
    return command_line("rewrite", file_word(model), *words, given=given, **more)


def _of_report(report: Report) -> GivenOptions:
    """What a report says of its options, as far as these are no defaults."""
    found = {
        "edition": (report.edition, Edition.TYPED),
        "broadcast": (report.broadcasting, Broadcasting.REJECT),
        "operators": (name_operators(report.demands.operators), PROFILE),
    }
    return {
        name: (f"--{name}", value) for name, (value, default) in found.items() if value != default
    }


def after_record(model: str, record: Path) -> str:
    """The command that takes a user on from the record of a check."""
    return command_line("verify", file_word(model), file_word(record))


def after_conform(model: Path, output: Path | None, given: GivenOptions, *, changed: bool) -> str:
    """The command that takes a user on from a model that `conform` brought into the profile.

    Args:
        model: The file of the original.
        output: The file that was written; None if changes were only shown.
        given: The options of the line before.
        changed: Whether there was something to change.
    """
    if output is None:
        return conform_again(model, given, ()) if changed else ""
    return command_line("check", file_word(output), given=given)


def conform_again(model: Path, given: GivenOptions, remedies: Iterable[Remedy]) -> str:
    """The command that conforms a model as before, with further options, and writes a file.

    Args:
        model: The file of the model.
        given: The options of the line before; all are kept.
        remedies: The further options. One that is for no single input replaces what was given.
    """
    further = list(remedies)
    replaced = {"diff", "output", *(each.option for each in further if not each.name)}
    _, target = given.get("output", ("", beside(str(model), "conforming.onnx")))
    kept = (word for name, words in given.items() if name not in replaced for word in words)
    more = (word for each in further for word in each.words)
    return shell(["sonnx-ort", "conform", file_word(model), "-o", target, *kept, *more])


def after_rewrite(
    model: Path, output: Path, record: Path | None, certificate: Path | None, given: GivenOptions
) -> str:
    """The command that takes a user on from a model that `rewrite` wrote."""
    if record is not None:
        return command_line("verify", file_word(output), file_word(record))
    if certificate is not None:
        words = [file_word(each) for each in (model, certificate, output)]
        return command_line("certify", words[0], "--check", words[1], "--enforced", words[2])
    kept = {name: words for name, words in given.items() if name in OF_ENFORCED}
    return command_line("run", file_word(output), given=kept)


def after_certificate(model: Path, given: GivenOptions) -> str:
    """The command that takes a user on from an accepted certificate of a model."""
    words = ["-o", beside(str(model), "enforced.onnx"), "--backend", "native"]
    words += ["--certificate", beside(str(model), "enforced.json")]
    return command_line("rewrite", file_word(model), *words, given=given)


def after_verify(model: Path, edition: Edition) -> str:
    """The command that takes a user on from an enforced model that keeps its record."""
    named = () if edition is Edition.TYPED else ("--edition", edition.value)
    return command_line("run", file_word(model), edition=named)


def after_audit(model: Path, given: GivenOptions, level: str, nodes: int) -> str:
    """The command that takes a user on from an audit with results outside the admitted error.

    Nothing is proposed of a model of few nodes, nor of what `reduce` does not run.
    """
    if nodes <= _FEW or "values" in given or "providers" in given:
        return ""
    return _reduce_command(model, "--outside", {**given, "level": ("--level", level)})


def after_difference(first: Path, second: Path, given: GivenOptions, ended: Sequence[bool]) -> str:
    """The command that takes a user on from two models whose values differ.

    An audit says whether those of the second one are right. A model whose run ended early is
    checked. Nothing is proposed of saved runs, and of many samples.

    Args:
        first: One model.
        second: The other one.
        given: The options of the line before.
        ended: Whether the run of each ended early.
    """
    for model, early in zip((first, second), ended, strict=True):
        if early:
            return command_line("check", file_word(model))
    if {"data", "samples", "saved"} & given.keys():
        return ""
    return command_line("audit", file_word(second), given=given)


def after_cause(model: Path, given: GivenOptions, nodes: int) -> str:
    """The command that takes a user on from a model whose outputs optimizers change."""
    if nodes <= _FEW or "threads" in given or "providers" in given:
        return ""
    return _reduce_command(model, "--differs", given)


def after_repeat(model: Path, given: GivenOptions) -> str:
    """The command that takes a user on from a model that does not always give the same bits."""
    alone = given.get("threads", ())[1:] == ("1",)
    kept = {name: words for name, words in given.items() if name != "threads" or not alone}
    return command_line("diff", file_word(model), "--why", given=kept)


def _reduce_command(model: Path, question: str, given: GivenOptions) -> str:
    words = [file_word(model), "-o", beside(str(model), "reduced.onnx"), question]
    return command_line("reduce", *words, given=given)


def after_reduce(
    output: Path, inputs: Mapping[str, Path], given: GivenOptions, level: str, *, in_run: bool
) -> str:
    """The command that takes a user on from a reduced model, and shows what it still shows.

    Args:
        output: The reduced model.
        inputs: The files of its inputs, by name.
        given: The options of the line before. What they say of inputs is of the original.
        level: How far ONNX Runtime optimized.
        in_run: Whether a run violates a rule that was asked for.
    """
    words = (word for name, path in inputs.items() for word in ("--input", f"{name}={path}"))
    of_inputs = dict.fromkeys(("contract", "data", *_INPUTS), ())
    kept = {**given, **of_inputs, "inputs": tuple(words), "level": ("--level", level)}
    if "differs" in given:
        return command_line("diff", file_word(output), "--why", given=kept)
    if "outside" in given:
        return command_line("audit", file_word(output), given=kept)
    if in_run:
        return command_line("run", file_word(output), given=kept)
    # Whether the user's own command ends with 0 is for that to say.
    return "" if "check" in given else command_line("check", file_word(output), given=kept)


def next_call(report: Report) -> str:
    """The call that takes a user on from a report that the name `report` is given to."""
    match next_step(report):
        case NextStep.CHECK_ALL:
            return "sonnx_ort.check(model)"
        case NextStep.REWRITE:
            return _rewriting(report, report.broadcasting)
        case NextStep.EXPAND:
            return _rewriting(report, Broadcasting.EXPLICIT)
        case NextStep.CONFORM:
            further = ["rounding=True"] if _only_rounding(report) else []
            return _call("conform", report, report.broadcasting, WHOLE_PROFILE, further)
        case NextStep.EXPLAIN:
            return f"!sonnx-ort explain {report.violations[0].rule.id}"


def _rewriting(report: Report, broadcast: Broadcasting) -> str:
    backend = [] if report.backend == installed_backend() else [f'backend="{report.backend}"']
    return _call("rewrite", report, broadcast, DEFAULT_OPERATORS, backend)


def _call(
    function: str,
    report: Report,
    broadcast: Broadcasting,
    default: frozenset[str],
    further: Iterable[str],
) -> str:
    """A call in Python with what the report has other than its defaults."""
    options = ["model"]
    if report.edition is not Edition.TYPED:
        options.append(f'edition="{report.edition}"')
    if broadcast is not Broadcasting.REJECT:
        options.append(f'broadcast="{broadcast}"')
    if report.demands.operators != default:
        options.append("operators=report.demands.operators")
    if report.demands.contract != NO_CONTRACT:
        options.append("contract=report.demands.contract")
    return f"sonnx_ort.{function}({', '.join([*options, *further])})"
