"""That optimizers are off is proved, and does not rest on how their names are spelled."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import onnx
import onnx.parser
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.ort import disabled_optimizers as tables
from sonnx_ort.ort import optimizers
from sonnx_ort.ort.canaries import OPTIMIZERS_OF_NUMBERS
from sonnx_ort.ort.disabled_optimizers import (
    OPTIMIZERS_OF_GUARDS,
    OPTIMIZERS_OF_ZEROS,
    UNWANTED_OPTIMIZERS,
    Optimizer,
    names_of,
)
from sonnx_ort.ort.optimizers import DISABLED_OPTIMIZERS
from sonnx_ort.ort.registration import prepare
from support.changes import INSTALLED
from support.graphs import binary_model
from support.sessions import ALL_OFF, quiet

MODEL = binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])


@pytest.fixture(autouse=True)
def _nothing_proved(monkeypatch):
    monkeypatch.setattr(optimizers, "_proved", set())


@pytest.fixture
def started(monkeypatch):
    """The plain sessions that are started to prove that optimizers are off."""
    sessions = []
    plain = ort.InferenceSession

    def start(model, options, **kwargs):
        session = plain(model, options, **kwargs)
        if options.optimized_model_filepath:
            sessions.append(session)
        return session

    monkeypatch.setattr(ort, "InferenceSession", start)
    return sessions


def misspelled(optimizers, name):
    return tuple(replace(o, name=f"{name}s") if o.name == name else o for o in optimizers)


def optimizing():
    return ort.SessionOptions()


def not_optimizing():
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


ALL = UNWANTED_OPTIMIZERS + OPTIMIZERS_OF_NUMBERS + OPTIMIZERS_OF_ZEROS
SINCE = {"WhereDummyDq": (1, 24)}
"""The first version with an optimizer, if it is not in all."""


@pytest.mark.parametrize("optimizer", ALL, ids=lambda o: f"{o.name}: {o.effect}")
def test_canary_has_other_named_nodes_behind_its_optimizer(optimizer, tmp_path):
    options = quiet()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    others = [name for name in ALL_OFF if name != optimizer.name]
    options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join(others))
    canary = onnx.parser.parse_model(optimizer.canary)
    ort.InferenceSession(canary.SerializeToString(), options)
    left = onnx.load(tmp_path / "optimized.onnx").graph.node
    named = {(node.op_type, node.name) for node in canary.graph.node if node.name}
    operators = {operator for operator, _ in named}
    kept = {(node.op_type, node.name) for node in left if node.op_type in operators}
    assert (named != kept) == (SINCE.get(optimizer.name, (0,)) <= INSTALLED)


def sets_of_optimizers(name, monkeypatch):
    """Misspell the name of an optimizer everywhere."""
    for table in ("UNWANTED_OPTIMIZERS", "OPTIMIZERS_OF_NUMBERS", "OPTIMIZERS_OF_ZEROS"):
        wrong = misspelled(getattr(optimizers, table), name)
        monkeypatch.setattr(optimizers, table, wrong)
    monkeypatch.setattr(tables, "UNWANTED_OPTIMIZERS", optimizers.UNWANTED_OPTIMIZERS)
    monkeypatch.setattr(tables, "OPTIMIZERS_OF_ZEROS", optimizers.OPTIMIZERS_OF_ZEROS)
    off = tuple(f"{each}s" if each == name else each for each in tables.MUST_BE_OFF)
    monkeypatch.setattr(tables, "MUST_BE_OFF", off)


@pytest.mark.parametrize(
    "name", [name for name in names_of(ALL) if SINCE.get(name, (0,)) <= INSTALLED]
)
def test_name_that_switches_nothing_off_is_told_with_the_version(name, monkeypatch):
    sets_of_optimizers(name, monkeypatch)
    effect = next(o.effect for o in ALL if o.name == name)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.register()
    assert str(caught.value) == (
        f"ONNX Runtime {ort.__version__} {effect}, although its graph optimizer {name}s is "
        "switched off by optimization.disable_specified_optimizers; set "
        "options.graph_optimization_level to ORT_DISABLE_ALL first"
    )


def register(options):
    sonnx_ort.register(options)


def python_session(options):
    sonnx_ort.InferenceSession(MODEL, options)


def native_session(options):
    sonnx_ort.InferenceSession(MODEL, options, backend="native")


ENTRANCES = [register, python_session, native_session]


@pytest.fixture
def _guards_misspelled(monkeypatch):
    sets_of_optimizers(OPTIMIZERS_OF_GUARDS[0].name, monkeypatch)


@pytest.mark.usefixtures("_guards_misspelled")
@pytest.mark.parametrize("enter", ENTRANCES)
def test_nothing_is_enforced_where_an_optimizer_stays_on(enter):
    with pytest.raises(sonnx_ort.SonnxError, match="graph optimizer ReshapeFusions is switched"):
        enter(optimizing())


@pytest.mark.usefixtures("_guards_misspelled")
def test_failed_proof_is_tried_again():
    for _ in range(2):
        with pytest.raises(sonnx_ort.SonnxError, match="ReshapeFusions"):
            sonnx_ort.register()


@pytest.mark.parametrize("first", ENTRANCES)
@pytest.mark.parametrize("enter", ENTRANCES)
def test_proof_of_other_optimizers_proves_nothing(first, enter, monkeypatch):
    first(optimizing())
    sets_of_optimizers(OPTIMIZERS_OF_GUARDS[0].name, monkeypatch)
    with pytest.raises(sonnx_ort.SonnxError, match="graph optimizer ReshapeFusions is switched"):
        enter(optimizing())


@pytest.mark.usefixtures("_guards_misspelled")
@pytest.mark.parametrize("enter", ENTRANCES)
def test_without_optimization_nothing_is_to_be_proved(enter, started):
    enter(not_optimizing())
    assert started == []


@pytest.mark.usefixtures("_guards_misspelled")
def test_proofs_are_verified_where_optimization_is_off():
    session = sonnx_ort.InferenceSession(
        MODEL, not_optimizing(), backend="native", verify_proofs=True
    )
    (result,) = session.run(None, {"A": [6.0], "B": [3.0]})
    assert result.tolist() == [2.0]


def test_optimizer_that_does_not_act_need_not_be_known():
    canary = """<ir_version: 9, opset_import: ["": 17]>
    canary (float[1] x, float[1] y) => (float[1] z) { [divide] z = Div(x, y) }"""
    optimizers.require_effective((Optimizer("OfAnotherVersion", "does nothing here", canary),))


def test_canary_that_cannot_be_optimized_is_told_with_its_optimizer(capfd):
    canary = """<ir_version: 9, opset_import: ["": 17, "unknown": 1]>
    canary (float[1] x) => (float[1] y) { [divide] y = unknown.Divide(x) }"""
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        optimizers.require_effective((Optimizer("DivideFusion", "divides", canary),))
    told = str(caught.value)
    assert told.startswith(
        f"ONNX Runtime {ort.__version__} cannot optimize the small model that tests whether its "
        "graph optimizer DivideFusion is switched off: "
    )
    assert "unknown:Divide" in told
    assert told.endswith("; set options.graph_optimization_level to ORT_DISABLE_ALL first")
    assert capfd.readouterr() == ("", "")


def test_temporary_folder_that_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(sonnx_ort.SonnxError, match="cannot be written to a temporary folder"):
        sonnx_ort.register()


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sonnx_ort.register()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_said_where_all_is_well(capfd):
    sonnx_ort.register()
    assert capfd.readouterr() == ("", "")


def test_one_session_for_each_canary_is_started_once(started):
    for _ in range(3):
        sonnx_ort.register()
    assert len(started) == len(ALL)


def test_native_model_without_proofs_of_numbers_switches_off_what_undoes_enforcement(started):
    options = ort.SessionOptions()
    prepare(options, Backend.NATIVE, rests_on_numbers=False, has_minus_zero=False)
    off = options.get_session_config_entry(DISABLED_OPTIMIZERS)
    assert off.split(";") == names_of(UNWANTED_OPTIMIZERS)
    assert len(started) == len(UNWANTED_OPTIMIZERS)


def test_python_backend_proves_the_same_once(started):
    for _ in range(3):
        sonnx_ort.InferenceSession(MODEL)
    assert len(started) == len(UNWANTED_OPTIMIZERS)


def test_threads_prove_it_once(started):
    together = Barrier(8)

    def prove(_):
        together.wait()
        sonnx_ort.register()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(prove, range(8)))
    assert len(started) == len(ALL)
