"""`check`: every obligation of a model, proved, left to the run, or violated."""

from collections.abc import Iterable

from sonnx_ort.analysis.examination import examine_loaded
from sonnx_ort.analysis.graph_outline import GraphOutline, outline
from sonnx_ort.analysis.recognition import recognize_enforced_nodes
from sonnx_ort.analysis.report import Report
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

    Raises:
        InvalidModel: It is no readable, valid ONNX model.
        SonnxError: An option is unknown, or the model is enforced under the other edition.
    """
    with collector_paused():
        return _examine(model, choose_demands(edition, broadcast, operators))[0]


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
        InvalidModel: As `check`.
        SonnxError: As `check`.
    """
    with collector_paused():
        report, loaded = _examine(model, choose_demands(edition, broadcast, operators))
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
