"""`check`: every obligation of a model, proved, left to the run, or violated."""

import datetime as dt
import os
from collections.abc import Iterable

from sonnx_ort.analysis.examination import examine_loaded
from sonnx_ort.analysis.graph_outline import GraphOutline, outline
from sonnx_ort.analysis.recognition import recognize_enforced_nodes
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waiver import Waiver
from sonnx_ort.analysis.waiver_file import read_waivers
from sonnx_ort.analysis.waiving import waive
from sonnx_ort.loading.canonical import LoadedModel
from sonnx_ort.loading.choice import DEFAULT, choose_demands
from sonnx_ort.loading.process import collector_paused
from sonnx_ort.loading.source import ModelSource
from sonnx_ort.profile.options import Demands
from sonnx_ort.rewriting.recognition import load_and_recognize, restored


def check(
    model: ModelSource,
    *,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = DEFAULT,
    waivers: str | os.PathLike[str] | Iterable[Waiver] = (),
) -> Report:
    """Find, for every rule at every node, whether it holds in every run, and why.

    Runs nothing but small nodes of integers that depend on constants alone, and loads no weights.
    `rewrite` rejects a model exactly if this report has violations. It tells of all operators of
    the profile, and of each obligation whether `rewrite` enforces it. The report of a model that
    is enforced already is that of the model it was made from.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        edition: "typed" or "preliminary".
        broadcast: "reject" or "explicit".
        operators: The operators that are to be enforced, as for `rewrite`.
        waivers: What violations are tolerated for: a TOML file, or waivers. `rewrite` knows nothing
            of them: it rejects what is waived.

    Raises:
        InvalidModel: It is no readable, valid ONNX model.
        SonnxError: An option is unknown, the model is enforced under the other edition, or a
            waiver is unusable or for no violation.
    """
    given = read_waivers(waivers) if isinstance(waivers, str | os.PathLike) else waivers
    report = examine_model(model, choose_demands(edition, broadcast, operators))
    (waived,) = waive([report], given, dt.date.today())
    return waived


def examine_model(model: ModelSource, demands: Demands) -> Report:
    """Do what `check` does, without waivers.

    Args:
        model: As for `check`.
        demands: What the model is held to.

    Raises:
        SonnxError: As for `check`.
    """
    with collector_paused():
        return _examine(model, demands)[0]


def check_with_outline(
    model: ModelSource,
    *,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = DEFAULT,
) -> tuple[Report, GraphOutline]:
    """Check a model, and describe the graph that the report speaks of.

    Args:
        model: As for `check`.
        edition: As for `check`.
        broadcast: As for `check`.
        operators: As for `check`.

    Returns:
        The report, and the graph whose nodes bear the names of its obligations.

    Raises:
        SonnxError: As for `check`.
    """
    return examine_with_outline(model, choose_demands(edition, broadcast, operators))


def examine_with_outline(model: ModelSource, demands: Demands) -> tuple[Report, GraphOutline]:
    """Do what `check_with_outline` does.

    Args:
        model: As for `check`.
        demands: What the model is held to.

    Raises:
        SonnxError: As for `check`.
    """
    with collector_paused():
        report, loaded = _examine(model, demands)
        if restored(loaded) is not None:
            return report, outline(loaded.graph_model)
        enforced = recognize_enforced_nodes(loaded.graph_model, report.edition)
        return report, outline(loaded.graph_model, enforced)


def _examine(model: ModelSource, demands: Demands) -> tuple[Report, LoadedModel]:
    loaded, native = load_and_recognize(model, demands.operators)
    if native is not None:
        native.require(demands)
        return native.report, loaded
    return examine_loaded(loaded, demands, all_operators=True).report, loaded
