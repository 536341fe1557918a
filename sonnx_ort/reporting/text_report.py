"""A report as text, for a terminal: what matters first, and all of it.

What matters first of a report, for a terminal: the verdict, causes, counts, and what to do next.
Violations of one rule at many nodes are one paragraph. `text_report` has all that is omitted here.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sonnx_ort.analysis.obligation import Finding, Obligation
from sonnx_ort.analysis.report import Coverage, Extent, KnownOperands, Report
from sonnx_ort.errors.remedies import in_command
from sonnx_ort.options import PROFILE, name_operators
from sonnx_ort.profile.rule import Rule, Status, Subject
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.next_steps import NOTHING, GivenOptions, next_command
from sonnx_ort.reporting.terminal import (
    Colour,
    Paint,
    fitted,
    in_columns,
    paint_of,
    table_of_numbers,
    width,
    wrapped,
)
from sonnx_ort.reporting.verdict import (
    MENDABLE,
    MENDABLE_BY_ROUNDING,
    NodeState,
    advised,
    bound,
    causes,
    counted,
    fixed_by_conform,
    mark_of,
    new_violations,
    resting_on_declarations,
    verdict,
)

_NODES_SHOWN = 3
_RULES_SHOWN = 10

_COLOURS = {
    NodeState.VIOLATED: Colour.VIOLATED,
    NodeState.RUNTIME: Colour.OPEN,
    NodeState.PROVED: Colour.PROVED,
    NodeState.NOT_ASKED_FOR: Colour.OPEN,
}


def overviews(check: Check, *, coloured: bool = False) -> str:
    """A check as text: what matters of a single model, or a line for each of several."""
    model = check.models[0]
    if check.alone and model.report is not None:
        return overview(model.report, model.name, check.given, coloured=coloured)
    return overview_of_models(check, coloured=coloured)


def overview(
    report: Report, name: str, given: GivenOptions = NOTHING, *, coloured: bool = False
) -> str:
    """What matters of a report, in lines of at most 100 columns."""
    paint = paint_of(coloured=coloured)
    shown = set[tuple[str, str]]()
    sections = [
        _head(report, name, paint),
        *(_paragraph(cause, Colour.VIOLATED, paint, shown) for cause in causes(report.violations)),
        *(_paragraph(cause, Colour.OPEN, paint, shown) for cause in causes(report.waived)),
        _unknown_ranks(report, paint),
        _in_runs(report, paint),
        _resting_on_declarations(report, paint),
        _counts(report),
        [f"next: {next_command(report, name, given)}"],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _head(report: Report, name: str, paint: Paint) -> list[str]:
    found = verdict(report)
    operators = name_operators(report.demands.operators)
    return [
        *(
            paint(line, _COLOURS[found.state])
            for line in wrapped(f"{name}: {found.word.lower()}", "")
        ),
        *wrapped(found.detail, "  "),
        *wrapped(
            f"edition {report.edition}, broadcast {report.broadcasting}, operators {operators}, "
            f"backend {report.backend}",
            "  ",
        ),
        *(line for each in report.premises for line in wrapped(f"conformed for: {each}", "  ")),
        *(wrapped(f"settings from {report.settings}", "  ") if report.settings else []),
        *(wrapped(str(report.left_out), "  ") if report.left_out.rules else []),
    ]


def _paragraph(
    cause: Sequence[Obligation], colour: Colour, paint: Paint, shown: set[tuple[str, str]]
) -> list[str]:
    """A cause with its first places; `shown` has the operands of places that were told before."""
    first, rule = cause[0], cause[0].rule
    checks = counted(len(cause), "check")
    lines = wrapped(f"{rule.id}, {checks} ({rule.basis}): {rule.sentence}", "")
    lines = [paint(line, colour) for line in lines]
    for obligation in cause[:_NODES_SHOWN]:
        lines += wrapped(f"{obligation.named}: {obligation.evidence}", "  ")
        if obligation is first:
            lines += _operands_of(obligation, shown)
        if obligation.waiver is not None:
            lines += wrapped(f"{obligation.waiver_standing} {obligation.waiver}", "      ")
    if len(cause) > _NODES_SHOWN:
        lines.append(f"  and {len(cause) - _NODES_SHOWN} more")
    if first.waived:
        return lines
    if first.hint:
        lines += wrapped(f"to fix it: {in_command(first.hint)}", "  ")
    for mark, option, share, _ in fixed_by_conform(cause, "it", f" of {len(cause)}"):
        lines.append(f"  {mark} sonnx-ort conform{option} fixes {share}")
    return [*lines, *(line for each in advised(cause) for line in wrapped(each, "  "))]


def _operands_of(obligation: Obligation, shown: set[tuple[str, str]]) -> list[str]:
    """The operands of an obligation, but those of its node that are already shown."""
    told = [(obligation.place, str(operand)) for operand in obligation.operands]
    lines = [line for each in told if each not in shown for line in wrapped(each[1], "      ")]
    shown.update(told)
    return lines


def _unknown_ranks(report: Report, paint: Paint) -> list[str]:
    """The values whose unknown ranks leave others unknown, before all that follows from them."""
    unknown = {
        operand.value: operand.origin
        for obligation in report.enforced
        if obligation.status is not Status.PROVED
        for operand in obligation.operands
        if operand.shape is None
    }
    if len(unknown) < 2:
        return []
    value, origin = next(iter(unknown.items()))
    return [
        paint(f"the rank of {counted(len(unknown), 'value')} is not known:", Colour.OPEN),
        *wrapped(
            f"'{value}' [{origin}] is the first; declare its shape, or export the model with "
            "fixed sizes, and more is decided before a run",
            "  ",
        ),
    ]


def _in_runs(report: Report, paint: Paint) -> list[str]:
    """The rules that runs decide, with the number of nodes."""
    counts = Counter(o.rule for o in _checked_in_runs(report))
    if not counts:
        return []
    total = sum(counts.values())
    return [
        paint(f"checked in each run, {counted(total, 'check')}:", Colour.OPEN),
        *_rules(counts),
    ]


def _resting_on_declarations(report: Report, paint: Paint) -> list[str]:
    """The declared shapes that are not proved, and what holds if they are true."""
    of_graph, of_nodes = list[Obligation](), list[Obligation]()
    for each in resting_on_declarations(report):
        on_graph = each.rule.requirement.subject is Subject.GRAPH
        (of_graph if on_graph else of_nodes).append(each)
    lines = [
        line
        for obligation in of_graph
        for line in (
            paint(f"not proved, {obligation.rule.id}:", Colour.OPEN),
            *wrapped(obligation.evidence, "  "),
            *wrapped(
                "ONNX Runtime takes declared shapes for true; the rewritten model does not have "
                "them, but for those of outputs that no node reads",
                "  ",
            ),
        )
    ]
    if of_nodes:
        lines += [
            paint(f"kept once rewritten, {counted(len(of_nodes), 'check')}:", Colour.OPEN),
            *_rules(Counter(obligation.rule for obligation in of_nodes)),
            *wrapped("a shape that the file declares decides them, and is not proved", "  "),
        ]
    return lines


def _rules(counts: Counter[Rule]) -> list[str]:
    shown = counts.most_common(_RULES_SHOWN)
    rows = [(f"{n:,}", rule.id, rule.basis.value, rule.sentence) for rule, n in shown]
    lines = [_as_much_as_fits(line) for line in in_columns(rows, "  ")]
    if len(counts) > _RULES_SHOWN:
        lines.append(f"  and {counted(len(counts) - _RULES_SHOWN, 'rule')} more; -v shows all")
    return lines


def _as_much_as_fits(line: str) -> str:
    """The line, or as much of it as fits."""
    return line if len(line) <= width() else f"{line[: width() - 4].rsplit(' ', 1)[0]} ..."


def _counts(report: Report) -> list[str]:
    """What needs no attention now, in numbers."""
    found = Counter(finding.rule.id for finding in report.findings)
    kinds = ", ".join(f"{number:,} {rule}" for rule, number in found.most_common())
    lines = [f"proved for every run: {counted(report.counts['proved'], 'check')}"]
    if report.passed_over:
        nodes = f"nodes not looked at: {report.passed_over:,}"
        lines.append(f"{nodes}; --operators {PROFILE} covers all")
    elif report.violations:
        lines.append(bound(report))
    if found:
        lines.append(f"findings, which change no result: {kinds}")
    lines.append("-v shows everything, --statistics a table of rules")
    return [line for text in lines for line in wrapped(text, "")]


def overview_of_models(check: Check, *, coloured: bool = False) -> str:
    """A line for each of several models, the rules that most violate, and what to do next."""
    paint = paint_of(coloured=coloured)
    rows = [_row(model) for model in check.models]
    colours = [
        Colour.VIOLATED if model.report is None else _COLOURS[verdict(model.report).state]
        for model in check.models
    ]
    lines = [
        paint(line, colour)
        for row, colour in zip(in_columns(rows), colours, strict=True)
        for line in fitted(row).split("\n")
    ]
    parts = (lines, _premises(check), _summary(check))
    return "\n\n".join("\n".join(part) for part in parts if part)


def _premises(check: Check) -> list[str]:
    """What models were conformed for."""
    said = (
        f"{model.name}: conformed for: {each}"
        for model in check.models
        if model.report is not None
        for each in model.report.premises
    )
    return [line for each in said for line in wrapped(each, "")]


def _row(model: CheckedModel) -> tuple[str, ...]:
    report = model.report
    if report is None:
        return model.name, "unusable", model.error
    counts = report.counts
    fixed = [f"{mark} {share}" for mark, _, share, _ in fixed_by_conform(report.violations)]
    violated = f"{len(report.violations):,} violated" + (f" ({', '.join(fixed)})" if fixed else "")
    others = f"{counts['runtime']:,} checked in runs, {counts['proved']:,} proved"
    left_out = (
        f", {report.left_out.violated:,} violated left out" if report.left_out.violated else ""
    )
    return model.name, _word(report), f"{violated}{left_out}, {others}"


def _word(report: Report) -> str:
    if report.left_out.violated and report.ok:
        return "left out"
    return "kept" if report.ok else "violated"


def _summary(check: Check) -> list[str]:
    reports = {model.name: model.report for model in check.models if model.report is not None}
    violated = {name: report for name, report in reports.items() if not report.ok}
    words = Counter(map(_word, reports.values()))
    left_out, unusable = words["left out"], len(check.models) - len(reports)
    lines = [
        f"{counted(len(check.models), 'model')}: {words['kept']} kept, {len(violated)} violated"
        + (f", {left_out} violated by rules that are left out" if left_out else "")
        + (f", {unusable} unusable" if unusable else "")
    ]
    if not violated:
        return lines
    counts = Counter(o.rule for report in violated.values() for o in report.violations)
    worst = max(violated, key=lambda name: len(violated[name].violations))
    verb = next_command(violated[worst], worst, check.given)
    return [*map(fitted, lines), "most violated:", *_rules(counts), "", f"next: {verb}"]


def statistics(check: Check, *, coloured: bool = False) -> str:
    """A table of rules: how often each is violated, left to runs and proved; in how many models.

    Rules on graphs that are not asked for count as findings. Columns of zeros are left out. Of a
    single model there is no number of models, and a line says how many rules are only proved.
    """
    del coloured
    columns = ("violated", MENDABLE, MENDABLE_BY_ROUNDING, "in runs", "proved", "findings")
    table: dict[Rule, Counter[str]] = defaultdict(Counter)
    models: dict[Rule, set[str]] = defaultdict(set)
    for model in check.models:
        for obligation in () if model.report is None else model.report.enforced:
            counts = table[obligation.rule]
            counts[_COLUMNS[obligation.status]] += 1
            counts[mark_of(obligation)] += 1
            models[obligation.rule].add(model.name)
        for finding in () if model.report is None else model.report.findings:
            table[finding.rule]["findings"] += 1
            models[finding.rule].add(model.name)
    alone = len(check.models) == 1
    ordered = sorted(table.items(), key=lambda item: [-item[1][column] for column in columns])
    if alone:
        ordered = [each for each in ordered if any(each[1][c] for c in columns if c != "proved")]
    shown = [c for c in columns if any(counts[c] for _, counts in ordered)]
    rows = [
        (
            rule.id,
            *(f"{counts[column]:,}" for column in shown),
            *(() if alone else (f"{len(models[rule]):,}",)),
        )
        for rule, counts in ordered
    ]
    head = ("rule", *shown, *(() if alone else ("models",)))
    lines = table_of_numbers(head, rows) if rows else []
    if len(rows) < len(table):
        proved = counted(len(table) - len(rows), "other rule" if rows else "rule")
        lines += wrapped(f"{proved} proved wherever they apply; -v shows them", "")
    return "\n".join(lines)


_COLUMNS = {Status.VIOLATED: "violated", Status.RUNTIME: "in runs", Status.PROVED: "proved"}


@dataclass(frozen=True, slots=True)
class Reach:
    """The coverage of one operator of a model.

    `found` has the numbers of obligations that are not enforced; it is empty if there are none.
    """

    coverage: Coverage
    found: str


def reach(report: Report) -> Iterator[Reach]:
    """The coverage of each operator, enforced ones first."""
    found: dict[str, Counter[Status]] = {}
    for obligation in report.obligations:
        if not obligation.enforced:
            found.setdefault(obligation.operator, Counter())[obligation.status] += 1
    for extent in Extent:
        for coverage in (c for c in report.coverage if c.extent is extent):
            counts = found.get(coverage.operator, Counter())
            shown = ", ".join(f"{counts[status]} {status}" for status in Status)
            yield Reach(coverage, shown if counts else "")


_FINDINGS_SHOWN = 5


def text_reports(check: Check, *, coloured: bool = False) -> str:
    """A check as text: the report of a single model, or each report under its name."""
    if check.alone and check.models[0].report is not None:
        return text_report(check.models[0].report, coloured=coloured)
    paint = paint_of(coloured=coloured)
    return "\n\n\n".join(_under_its_name(model, paint) for model in check.models)


def _under_its_name(model: CheckedModel, paint: Paint) -> str:
    name = paint(f"== {model.name}", Colour.NAME)
    if model.report is None:
        lines = wrapped(f"cannot be used: {model.error}", "")
        return "\n".join([name, *(paint(line, Colour.VIOLATED) for line in lines)])
    return f"{name}\n{_text(model.report, paint)}"


def text_report(report: Report, *, coloured: bool = False) -> str:
    """A report as text.

    Returns:
        Lines of at most 100 columns: the summary, the obligations by status with their evidence,
        the findings, the coverage of each operator, and how much `conform` can fix.
    """
    return _text(report, paint_of(coloured=coloured))


_VIOLATED = "violated: these fail in every run that reaches the node"
_WAIVED = "waived: these fail in every run that reaches the node, and a waiver accepts them"
_IN_RUNS = "checked in each run, by the rewritten model or by ONNX Runtime"
_NOT_PROVED = "not proved: ONNX Runtime takes what the file declares for true"
_PROVED = "proved: these hold in every run"


def _text(report: Report, paint: Paint) -> str:
    left_out = ", ".join(sorted(report.left_out.rules))
    sections = [
        [
            *wrapped(report.summary(), ""),
            *(wrapped(f"rules left out: {left_out}", "") if left_out else []),
            *wrapped(f"model {report.identity.sha256}", ""),
            *_operands(report.operands),
        ],
        *(
            _obligations(chosen, title, colour, paint)
            for chosen, title, colour in (
                (report.violations, _VIOLATED, Colour.VIOLATED),
                (report.waived, _WAIVED, Colour.OPEN),
                (_checked_in_runs(report), _IN_RUNS, Colour.OPEN),
                (resting_on_declarations(report), _NOT_PROVED, Colour.OPEN),
                (_of_status(report, Status.PROVED), _PROVED, Colour.PROVED),
            )
        ),
        _findings(report.findings),
        _coverage(report),
        _mendable(report),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _operands(known: KnownOperands) -> list[str]:
    if not known.count:
        return []
    ranks = f"the rank is known for {known.known_rank} of {known.count}"
    return wrapped(f"operands: {ranks}, all sizes for {known.known_sizes}", "")


def _of_status(report: Report, status: Status) -> list[Obligation]:
    return [o for o in report.enforced if o.status is status]


def _checked_in_runs(report: Report) -> list[Obligation]:
    return [o for o in _of_status(report, Status.RUNTIME) if not o.rests_on_declaration]


def _obligations(
    chosen: Sequence[Obligation], title: str, colour: Colour, paint: Paint
) -> list[str]:
    if not chosen:
        return []
    lines = [paint(line, colour) for line in wrapped(f"{title} ({len(chosen)})", "")]
    shown, operands = Counter[str](), set[tuple[str, str]]()
    for obligation in chosen:
        shown[obligation.rule.id] += 1
        on_graph = obligation.rule.requirement.subject is Subject.GRAPH
        if not on_graph or shown[obligation.rule.id] <= _FINDINGS_SHOWN:
            lines.extend(_obligation(obligation, lambda line: paint(line, colour), operands))
        elif shown[obligation.rule.id] == _FINDINGS_SHOWN + 1:
            count = sum(o.rule is obligation.rule for o in chosen) - _FINDINGS_SHOWN
            more = f"and {count} more of {obligation.rule.id}; --format json shows all"
            lines.extend(wrapped(more, "  "))
    return lines


def _obligation(
    obligation: Obligation, paint: Callable[[str], str], shown: set[tuple[str, str]]
) -> Iterator[str]:
    place = f"{obligation.rule.id} at {obligation.place} {mark_of(obligation)}".rstrip()
    yield from map(paint, wrapped(place, "  "))
    if obligation.written is not None:
        yield from wrapped(str(obligation.written), "      ")
    yield from wrapped(obligation.evidence, "      ")
    if obligation.status is Status.PROVED:
        return
    yield from _operands_of(obligation, shown)
    if obligation.hint:
        yield from wrapped(f"to fix it: {in_command(obligation.hint)}", "      ")
    for each in advised([obligation]):
        yield from wrapped(each, "      ")
    if obligation.waiver is not None:
        yield from wrapped(f"{obligation.waiver_standing} {obligation.waiver}", "      ")


def findings_by_rule(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The findings of each rule, by its id."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule.id, []).append(finding)
    return by_rule


def _findings(findings: Iterable[Finding]) -> list[str]:
    by_rule = findings_by_rule(findings)
    if not by_rule:
        return []
    lines = ["findings: they change no result"]
    for identifier, found in by_rule.items():
        sentence = found[0].rule.sentence
        lines.extend(wrapped(f"{identifier} ({len(found)}): {sentence}", "  "))
        for finding in found[:_FINDINGS_SHOWN]:
            at = f", {finding.written}" if finding.written else ""
            lines.extend(wrapped(f"{finding.place}{at}: {finding.detail}", "      "))
        if len(found) > _FINDINGS_SHOWN:
            more = f"and {len(found) - _FINDINGS_SHOWN} more; --format json shows all"
            lines.extend(wrapped(more, "      "))
    return lines


def _coverage(report: Report) -> list[str]:
    """A table of the coverage: operator, nodes, extent, and obligations that are not enforced."""
    if not report.coverage:
        return []
    width = max(len(coverage.operator) for coverage in report.coverage)
    digits = max(len(str(coverage.nodes)) for coverage in report.coverage)
    lines = wrapped("operators of the model, with their numbers of nodes", "")
    lines.extend(wrapped(bound(report), "  "))
    for each in reach(report):
        own = each.coverage
        row = f"{own.operator:{width}}  {own.nodes:{digits}}  {own.words}"
        lines.extend(wrapped(f"{row}: {each.found}" if each.found else row, "  "))
    return lines


def _mendable(report: Report) -> list[str]:
    """What `conform` fixes, by its options, and what its model would violate anew."""
    total = f" of {counted(len(report.violations), 'violation')}"
    fixed = [
        f"{mark} `sonnx-ort conform{option}` fixes {share}"
        for mark, option, share, _ in fixed_by_conform(report.violations, of_all=total)
    ]
    return [line for each in (*fixed, *new_violations(report)) for line in wrapped(each, "")]
