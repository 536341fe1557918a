"""A wrong call of a public function says which function was called, and what to give it."""

import inspect
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.errors.arguments import checked_arguments
from support.graphs import parse

MODEL = parse("(float[2] x) => (float[2] y) { y = Neg(x) }")
TARGET = "target.onnx"
PATH = "model.onnx"

OF_REWRITE = "edition, broadcast, operators, backend, make_explicit, conform, waivers, contract"

UNKNOWN: dict[str, tuple[Callable[..., object], tuple[object, ...], str, str]] = {
    "rewrite": (sonnx_ort.rewrite, (MODEL,), "operator", " (did you mean 'operators'?)"),
    "rewrite, nothing like it": (
        sonnx_ort.rewrite, (MODEL,), "tolerance", f"; its options are model, cache, {OF_REWRITE}"
    ),
    "rewrite_file": (
        sonnx_ort.rewrite_file, (PATH, TARGET), "operator", " (did you mean 'operators'?)"
    ),
    "check": (sonnx_ort.check, (MODEL,), "waiver", " (did you mean 'waivers'?)"),
    "certify": (sonnx_ort.certify, (PATH,), "editions", " (did you mean 'edition'?)"),
    "certify, option of another": (
        *(sonnx_ort.certify, (PATH,), "backend"),
        "; its options are model, edition, operators, contract",
    ),
    "conform": (sonnx_ort.conform, (MODEL,), "input", " (did you mean 'inputs'?)"),
    "conform_file": (
        sonnx_ort.conform_file, (PATH, TARGET), "external", " (did you mean 'external_data'?)"
    ),
    "audit": (sonnx_ort.audit, (MODEL,), "exhaust", " (did you mean 'exhaustive'?)"),
    "verify": (sonnx_ort.verify, (PATH, PATH), "originals", " (did you mean 'original'?)"),
    "register": (sonnx_ort.register, (), "backends", " (did you mean 'backend'?)"),
    "InferenceSession": (
        sonnx_ort.InferenceSession, (MODEL,), "operator", " (did you mean 'operators'?)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNKNOWN)
def test_unknown_option_is_refused_with_the_one_that_is_meant(case: str) -> None:
    function, given, option, meant = UNKNOWN[case]
    with pytest.raises(TypeError) as caught:
        function(*given, **{option: "Div"})
    assert str(caught.value) == f"{case.partition(',')[0]}() has no option '{option}'{meant}"


OPTIONS = "give onnxruntime.SessionOptions or None"
PATHS = "give str or os.PathLike"
SOURCES = "give str, os.PathLike, bytes, onnx.ModelProto or onnx_ir.Model"

OF_ANOTHER_TYPE: dict[str, tuple[Callable[[], object], str]] = {
    "register({})": (
        lambda: sonnx_ort.register({}),
        f"register(): 'options' is of type dict; {OPTIONS}",
    ),
    "register('compiled')": (
        lambda: sonnx_ort.register("compiled"),
        f"register(): 'options' is of type str; {OPTIONS}",
    ),
    "providers where options are": (
        lambda: sonnx_ort.InferenceSession(MODEL, ["CPUExecutionProvider"]),
        f"InferenceSession(): 'sess_options' is of type list; {OPTIONS}",
    ),
    "no model": (
        lambda: sonnx_ort.InferenceSession(3),
        f"InferenceSession(): 'path_or_bytes' is of type int; {SOURCES}",
    ),
    "rewrite(3)": (
        lambda: sonnx_ort.rewrite(3),
        f"rewrite(): 'model' is of type int; {SOURCES}",
    ),
    "check(None)": (
        lambda: sonnx_ort.check(None),
        f"check(): 'model' is of type NoneType; {SOURCES}",
    ),
    "rewrite_file(model)": (
        lambda: sonnx_ort.rewrite_file(MODEL, TARGET),
        f"rewrite_file(): 'source' is of type ModelProto; {PATHS}",
    ),
    "rewrite_file, no target": (
        lambda: sonnx_ort.rewrite_file(PATH, None),
        f"rewrite_file(): 'target' is of type NoneType; {PATHS}",
    ),
    "rewrite_file, record": (
        lambda: sonnx_ort.rewrite_file(PATH, TARGET, record=True),
        "rewrite_file(): 'record' is of type bool; give str, os.PathLike or None",
    ),
    "a word for a truth value": (
        lambda: sonnx_ort.rewrite(MODEL, make_explicit="no"),
        "rewrite(): 'make_explicit' is of type str; give bool",
    ),
    "rewrite, waivers": (
        lambda: sonnx_ort.rewrite(MODEL, waivers=3),
        "rewrite(): 'waivers' is of type int; give str, os.PathLike or Iterable",
    ),
    "conform, inputs": (
        lambda: sonnx_ort.conform(MODEL, verify=True, inputs=[np.ones(2)]),
        "conform(): 'inputs' is of type list; give Mapping",
    ),
    "conform, seed": (
        lambda: sonnx_ort.conform(MODEL, verify=True, seed="1"),
        "conform(): 'seed' is of type str; give int",
    ),
    "audit, feeds": (
        lambda: sonnx_ort.audit(MODEL, [np.ones(2)]),
        "audit(): 'feeds' is of type list; give Mapping or None",
    ),
    "certify(model)": (
        lambda: sonnx_ort.certify(MODEL),
        f"certify(): 'model' is of type ModelProto; {PATHS}",
    ),
    "verify, record": (
        lambda: sonnx_ort.verify(PATH, {}),
        f"verify(): 'record' is of type dict; {PATHS}",
    ),
}


@pytest.mark.parametrize("case", OF_ANOTHER_TYPE)
def test_argument_of_another_type_is_refused_by_its_name(case: str) -> None:
    call, message = OF_ANOTHER_TYPE[case]
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def test_value_that_is_no_choice_is_refused_with_the_choices() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.InferenceSession(MODEL, backend="nativ")
    assert str(caught.value) == (
        "backend='nativ' is unknown; choose 'python' or 'native' or 'compiled'"
    )


def test_whole_number_of_numpy_is_a_whole_number() -> None:
    assert not sonnx_ort.conform(MODEL, verify=True, seed=np.int64(1)).left_out


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_whatever_holds_bytes_is_a_model(kind: Callable[[bytes], bytes]) -> None:
    assert sonnx_ort.check(kind(MODEL.SerializeToString())).ok


def test_every_public_function_with_arguments_checks_them() -> None:
    functions = {name: getattr(sonnx_ort, name) for name in sonnx_ort.__all__}
    unchecked = [
        name
        for name, function in functions.items()
        if isinstance(function, FunctionType)
        and inspect.signature(function).parameters
        and not hasattr(function, "__wrapped__")
    ]
    assert not unchecked


def test_checked_function_keeps_its_name_and_signature() -> None:
    def open_model(path: str, *, strict: bool = False) -> Path:
        """Open a model."""
        del strict
        return Path(path)

    checked = checked_arguments(open_model)
    assert (checked.__name__, checked.__doc__) == ("open_model", "Open a model.")
    assert inspect.signature(checked) == inspect.signature(open_model)
    assert checked("a", strict=True) == Path("a")


def test_model_of_onnx_is_taken() -> None:
    assert isinstance(
        sonnx_ort.rewrite(onnx.ModelProto.FromString(MODEL.SerializeToString())), onnx.ModelProto
    )
