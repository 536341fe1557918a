"""What the product finds of a model, without anything made of it."""

from collections.abc import Iterable

from sonnx_ort.backends import Backend
from sonnx_ort.loading.source import ModelSource
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.report import Report
from sonnx_ort.obligations.waivers import Waiver
from sonnx_ort.options import Choices, choose_demands
from sonnx_ort.pipeline import examine, load
from sonnx_ort.profile.options import Demands
from sonnx_ort.reporting import checked_models
from sonnx_ort.reporting.checked_models import GraphOutline


def examined(
    model: ModelSource,
    demands: Demands,
    *,
    complete: bool = False,
    waivers: Iterable[Waiver] = (),
) -> Examination:
    """Load and examine a model."""
    choices = Choices(demands, Backend.PYTHON, waivers=tuple(waivers))
    return examine(load(model, choices), complete=complete).examination


def check_with_outline(
    model: ModelSource,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = "default",
) -> tuple[Report, GraphOutline]:
    """Check a model, and describe its graph."""
    demands = choose_demands(edition, broadcast, operators)
    return checked_models.check_with_outline(model, Choices(demands, Backend.PYTHON))
