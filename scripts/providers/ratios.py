"""How long a guarded Div takes compared with a plain one, on one execution provider."""

from dataclasses import dataclass

import onnxruntime
from benchmarks.turns import Run, Spread, ratio_of, take_turns
from benchmarks.workload import Feeds, Setting, make_feeds, make_model

from providers.availability import operators_on, options_with_assignments
from sonnx_ort import register, rewrite

_PLAIN, _GUARDED = "plain", "guarded"
_DEVICES = {"CUDAExecutionProvider": "cuda", "ROCMExecutionProvider": "cuda"}
_CPU = "CPUExecutionProvider"


@dataclass(frozen=True, slots=True)
class Ratio:
    """What was measured in one setting.

    Attributes:
        setting: What was run.
        ratio: How many times as long the guarded Div took.
        on_cpu: The operators of the guarded model that ran on the CPU.
    """

    setting: Setting
    ratio: Spread
    on_cpu: list[str]

    def line(self) -> str:
        """One line of the table."""
        ratio = f"{self.ratio.minimum:.2f} / {self.ratio.median:.2f}"
        elements = f"{self.setting.elements:,}"
        on_cpu = ", ".join(self.on_cpu) or "none"
        return f"{self.setting.element_type:<10}{elements:>12}{ratio:>16}   {on_cpu}"


HEADING = f"{'type':<10}{'elements':>12}{'guarded/plain':>16}   operators on the CPU"
"""The line above the ratios."""


def measure(setting: Setting, provider: str, seconds: float) -> Ratio:
    """Let a plain and a guarded Div take turns, on tensors that stay on the device.

    Args:
        setting: What to run.
        provider: The name of the execution provider.
        seconds: How long.
    """
    feeds = make_feeds(setting)
    model = make_model(setting)
    enforced = rewrite(model, backend="native")
    plain = onnxruntime.InferenceSession(
        model.SerializeToString(), options_with_assignments(), providers=[provider]
    )
    guarded = onnxruntime.InferenceSession(
        enforced.SerializeToString(), register(options_with_assignments()), providers=[provider]
    )
    runs = {
        _PLAIN: _bound_run(plain, feeds, provider),
        _GUARDED: _bound_run(guarded, feeds, provider),
    }
    turns = take_turns(runs, seconds, _PLAIN)
    return Ratio(setting, ratio_of(turns, _GUARDED, _PLAIN), operators_on(guarded, _CPU))


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

    def run() -> None:
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()

    return run
