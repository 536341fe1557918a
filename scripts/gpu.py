"""Try the native backend on a GPU: `python3 scripts/gpu.py`.

Compares it there with the python backend on the CPU, on random models and feeds, and prints how
long a guarded Div takes compared with a plain one. Runs in this Python if sonnx_ort is installed in
it, else in the environment `.venv`, which it makes first if there is none. The environment has no
package for a GPU: install sonnx_ort somewhere else and put onnxruntime-gpu in the place of
onnxruntime there. Where there is no GPU it says that nothing ran on one, and ends with status 0.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from environment import ROOT, captured, exit_status, run_in_environment

run_in_environment()

import onnxruntime
from benchmarks.measurement import ELEMENT_TYPES, Feeds, Setting, make_feeds, make_model
from benchmarks.turns import Run, ratio_of, take_turns
from plain_sessions import make_options

from sonnx_ort import register, rewrite

OPERATORS = ("Div", "Sub", "Broadcast")
"""The operators that are compared."""

_ELEMENTS = (16, 10_000, 1_000_000, 10_000_000)
_DEVICES = {"CUDAExecutionProvider": "cuda", "ROCMExecutionProvider": "cuda"}
_SHOWN_LINES = 40

_EXPLANATION = f"""
Time of a guarded Div over that of a plain one: the same model and inputs, one session each, taking
turns, inputs and outputs bound on the device; that of the shortest times / the median turn by turn.

{"type":<10}{"elements":>12}{"guarded/plain":>16}   operators on the CPU"""


class BackendsDiffer(Exception):  # noqa: N818 - reads as what happened
    """The backends do not agree, or the process ended; the message is what it wrote last."""


def run(arguments: Sequence[str]) -> int:
    """Try a provider and print.

    Returns:
        The exit status: 0 if the backends agree or nothing could be run, 1 if they do not.
    """
    parser = argparse.ArgumentParser(
        prog="gpu.py", description="Try the native backend on an execution provider."
    )
    number = partial(parser.add_argument, type=int)
    parser.add_argument("--provider", default="CUDA", help="CUDA, CPU, ... (default: %(default)s)")
    number("--seed", default=0, help="decides the random models and feeds")
    number("--models", default=200, help="random models of each operator (default: 200)")
    number("--elements", nargs="+", default=_ELEMENTS, metavar="N", help="sizes that are timed")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="time for one ratio (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    provider = f"{options.provider}ExecutionProvider"
    reason = why_not(provider)
    if reason is not None:
        print(f"Skipped: {reason}. Nothing was run on it, and nothing is known of it.")
        return 0
    print(f"onnxruntime {onnxruntime.__version__}, {provider}, {_device(provider)}\n")
    try:
        for operator in OPERATORS:
            found = compare_backends(provider, operator, options.seed, options.models)
            print(agreement(operator, found), flush=True)
    except BackendsDiffer as error:
        print(f"{operator}: the native backend differs from the reference on {provider}\n{error}")
        return 1
    print(_EXPLANATION)
    for element_type in ELEMENT_TYPES:
        for elements in options.elements:
            setting = Setting(element_type, elements)
            print(_ratio_row(setting, provider, options.seconds), flush=True)
    return 0


def why_not(provider: str) -> str | None:
    """Say why nothing can be run on a provider; None if it can.

    A provider that is built in is not enough: without a device ONNX Runtime falls back to the CPU.
    """
    version, offered = onnxruntime.__version__, onnxruntime.get_available_providers()
    if provider not in offered:
        return f"onnxruntime {version} has no {provider} here, only {', '.join(sorted(offered))}"
    setting = Setting("float32", 1)
    session = onnxruntime.InferenceSession(
        make_model(setting).SerializeToString(), _options(), providers=[provider]
    )
    session.run(None, make_feeds(setting))
    if "Div" not in _operators_on(session, provider):
        return (
            f"onnxruntime {version} has {provider}, but runs a Div elsewhere, as without a device"
        )
    return None


def compare_backends(provider: str, operator: str, seed: int, models: int) -> dict[str, Any]:
    """Compare in a process of its own: an integer division that nothing stops can end it.

    Returns:
        How many `models` ran, how many `runs` were compared, how many of these were `refused`, and
        as `assigned` how many nodes of an element type ran on a provider.

    Raises:
        BackendsDiffer: They do not agree.
    """
    module = ["-m", "support.agreement", provider, operator, str(seed), str(models)]
    variables = {"PYTHONPATH": os.pathsep.join((f"{ROOT / 'tests'}", f"{ROOT / 'scripts'}"))}
    options: dict[str, Any] = {"capture_output": True, "text": True, "errors": "replace"}
    command = [sys.executable, *module]
    done = subprocess.run(command, check=False, env=os.environ | variables, **options)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-_SHOWN_LINES:])
        raise BackendsDiffer(f"exit status {done.returncode}\n{last}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def agreement(operator: str, found: Mapping[str, Any]) -> str:
    """Put into words what `compare_backends` found."""
    kept = found["runs"] - found["refused"]
    first = (
        f"{operator}: {found['models']} models, {found['runs']} runs; {kept} gave the same bits, "
        f"{found['refused']} were refused with the same rule, operator and node"
    )
    assigned = sorted(found["assigned"].items())
    return "\n".join([first, *(f"    {count} {what}" for what, count in assigned)])


def _ratio_row(setting: Setting, provider: str, seconds: float) -> str:
    """Let a plain and a guarded Div take turns, on tensors that stay on the device."""
    feeds, model = make_feeds(setting), make_model(setting)
    enforced = rewrite(model, backend="native")
    plain, guarded = (
        onnxruntime.InferenceSession(made.SerializeToString(), options, providers=[provider])
        for made, options in ((model, _options()), (enforced, register(_options())))
    )
    sessions = {"plain": plain, "guarded": guarded}
    runs = {name: _bound_run(session, feeds, provider) for name, session in sessions.items()}
    spread = ratio_of(take_turns(runs, seconds, "plain"), "guarded", "plain")
    ratio = f"{spread:.2f}"
    on_cpu = ", ".join(_operators_on(guarded, "CPUExecutionProvider")) or "none"
    return f"{setting.element_type:<10}{setting.elements:>12,}{ratio:>16}   {on_cpu}"


def _bound_run(session: onnxruntime.InferenceSession, feeds: Feeds, provider: str) -> Run:
    """A run that copies nothing between the host and the device."""
    device = _DEVICES.get(provider, "cpu")
    binding = session.io_binding()
    for name, array in feeds.items():
        value = onnxruntime.OrtValue.ortvalue_from_numpy(array, device, 0)
        binding.bind_ortvalue_input(name, value)
    (output,) = session.get_outputs()
    first = next(iter(feeds.values()))
    result = onnxruntime.OrtValue.ortvalue_from_shape_and_type(
        list(first.shape), first.dtype, device, 0
    )
    binding.bind_ortvalue_output(output.name, result)

    def run_once() -> None:
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()

    return run_once


def _options() -> onnxruntime.SessionOptions:
    """Session options under which a session knows which provider runs a node."""
    options = make_options()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return options


def _operators_on(session: onnxruntime.InferenceSession, provider: str) -> list[str]:
    """The operators that a provider runs, each once."""
    parts = (p for p in session.get_provider_graph_assignment_info() if p.ep_name == provider)
    return sorted({str(node.op_type) for part in parts for node in part.get_nodes()})


def _device(provider: str) -> str:
    program = shutil.which("nvidia-smi")
    if provider != "CUDAExecutionProvider" or program is None:
        return "device not known"
    query = [program, "--query-gpu=name", "--format=csv,noheader"]
    done = captured(query)
    return done.stdout.partition("\n")[0].strip() or "device not known"


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
