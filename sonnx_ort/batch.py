"""Checks models together: one that cannot be used keeps no other from being checked."""

import datetime as dt
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from sonnx_ort.analysis.checked_model import CheckedModel
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.analysis.waiving import waive
from sonnx_ort.checking import examine_model, examine_with_outline
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.options import Demands

STANDARD_INPUT = "-"
"""What stands for the model on standard input."""


def find_models(given: Iterable[str]) -> list[str]:
    """Find the files of models.

    Args:
        given: Files, which need not be there; folders, which stand for each `.onnx` file in or
            below them, by name; or "-".

    Returns:
        The files, each once.

    Raises:
        SonnxError: A folder has none.
    """
    found: list[str] = []
    for name in given:
        folder = Path(name)
        if not folder.is_dir():
            found.append(name)
            continue
        inside = sorted(str(path) for path in folder.rglob("*.onnx") if path.is_file())
        if not inside:
            raise SonnxError(f"there is no .onnx file in the folder '{name}'")
        found.extend(inside)
    return list(dict.fromkeys(found))


def check_models(
    names: Sequence[str],
    demands: Demands,
    *,
    before_each: Callable[[str], None] = lambda _: None,
    drawn: bool = False,
) -> tuple[CheckedModel, ...]:
    """Check models.

    Args:
        names: Their files, or "-".
        demands: What all are held to.
        before_each: Called with each name before its model is checked.
        drawn: Whether their graphs are to be drawn.
    """
    checked: list[CheckedModel] = []
    for name in names:
        before_each(name)
        checked.append(_check(name, demands, drawn=drawn))
    return tuple(checked)


def settle(
    checked: Sequence[CheckedModel],
    *,
    waivers: Iterable[Waiver] = (),
    rules: Iterable[str] | None = None,
) -> tuple[CheckedModel, ...]:
    """Apply waivers to models that were checked together, and choose what is told of them.

    Args:
        checked: The models.
        waivers: What violations of theirs are tolerated for.
        rules: The rules to tell of; None stands for all.

    Raises:
        SonnxError: A waiver is not for exactly one violation.
    """
    reports = [model.report for model in checked if model.report is not None]
    waived = iter(waive(reports, waivers, dt.date.today()))
    return tuple(
        model if model.report is None else replace(model, report=next(waived).selected(rules))
        for model in checked
    )


def _check(name: str, demands: Demands, *, drawn: bool) -> CheckedModel:
    try:
        source = sys.stdin.buffer.read() if name == STANDARD_INPUT else name
        if drawn:
            report, graph = examine_with_outline(source, demands)
            return CheckedModel(name, report, graph=graph)
        return CheckedModel(name, examine_model(source, demands))
    except SonnxError as error:
        return CheckedModel(name, None, str(error))
