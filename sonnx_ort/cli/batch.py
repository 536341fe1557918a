"""Checks models one after the other, or in several processes."""

import datetime as dt
import functools
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from sonnx_ort.analysis.report import ContractFile
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.analysis.waiving import waive
from sonnx_ort.errors import SonnxError
from sonnx_ort.options import Choices
from sonnx_ort.pipeline import check
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.reporting.checked_models import CheckedModel, check_with_outline, outline_of

STANDARD_INPUT = "-"
"""The name of the model on standard input."""


@dataclass(frozen=True, slots=True)
class ModelToCheck:
    """A model to be checked.

    Attributes:
        name: Its file, or "-" for standard input.
        choices: What is demanded of it.
        rules: The ids of the rules to be reported.
        settings: The file with settings that was used; empty if there is none.
        forecast: Whether to find out what `conform` fixes.
        contract_file: The file of the contract; None if there is none.
        cache: The folder of a cache; None if there is none.
    """

    name: str
    choices: Choices
    rules: frozenset[str] = frozenset(RULES)
    settings: str = ""
    forecast: bool = True
    contract_file: ContractFile | None = None
    cache: Path | None = None


def check_models(
    models: Sequence[ModelToCheck],
    *,
    before_each: Callable[[str], None] = lambda _: None,
    drawn: bool = False,
    jobs: int = 1,
) -> tuple[CheckedModel, ...]:
    """Check models.

    Args:
        models: The models.
        before_each: Called with each name, before its model is checked if there is one process.
        drawn: Whether the graphs are needed as well.
        jobs: The number of processes; 0 for one on each processor.
    """
    check_one = functools.partial(_check, drawn=drawn)
    processes = min(jobs or os.cpu_count() or 1, len(models))
    checked: list[CheckedModel] = []
    if processes < 2 or any(model.name == STANDARD_INPUT for model in models):
        for wanted in models:
            before_each(wanted.name)
            checked.append(check_one(wanted))
        return tuple(checked)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context) as pool:
        for model in pool.map(check_one, models):
            before_each(model.name)
            checked.append(model)
    return tuple(checked)


def with_waivers(
    models: Sequence[ModelToCheck], checked: Sequence[CheckedModel], waivers: Iterable[Waiver] = ()
) -> tuple[CheckedModel, ...]:
    """Apply waivers to checked models, and select the reported rules of each.

    Raises:
        SonnxError: A waiver does not match exactly the violations that it covers.
    """
    reports = [model.report for model in checked if model.report is not None]
    waived = iter(waive(reports, waivers, dt.date.today()))
    return tuple(
        model
        if model.report is None
        else replace(model, report=next(waived).selected(wanted.rules))
        for wanted, model in zip(models, checked, strict=True)
    )


def _check(wanted: ModelToCheck, *, drawn: bool) -> CheckedModel:
    """Check a model; what makes it unusable is kept in place of a report."""
    name, graph = wanted.name, None
    try:
        source = sys.stdin.buffer.read() if name == STANDARD_INPUT else name
        if wanted.cache is not None:
            from sonnx_ort.caching.results import kept_report

            forecast, cache = wanted.forecast, wanted.cache
            report = kept_report(source, wanted.choices, forecast=forecast, cache=cache)
            graph = outline_of(source, wanted.choices) if drawn else None
        elif drawn:
            report, graph = check_with_outline(source, wanted.choices, forecast=wanted.forecast)
        else:
            report = check(source, wanted.choices, forecast=wanted.forecast)
    except SonnxError as error:
        return CheckedModel(name, None, error.advice.in_command)
    report = replace(report, settings=wanted.settings, contract_file=wanted.contract_file)
    return CheckedModel(name, report, graph=graph)
