"""Passes of Olive that conform and enforce a model: needs `olive-ai` and `requests`.

Olive conforms the model, quantizes it by its own pass, conforms the result, and enforces it.
"""

import json
import logging
import math
from pathlib import Path

import onnx
import onnx.helper
import onnx.parser
import onnx_ir as ir
from olive.hardware.accelerator import AcceleratorSpec
from olive.model import ONNXModelHandler
from olive.model.utils import resolve_onnx_path
from olive.package_config import OlivePackageConfig
from olive.passes import Pass
from olive.passes.onnx.common import get_external_data_config, ir_model_to_olive_model
from olive.passes.pass_config import BasePassConfig, PassConfigParam
from olive.workflows import run

import sonnx_ort
from sonnx_ort.passes import ConformPass, EnforcePass


class SonnxPass(Pass):
    """Runs a pass of onnx_ir on an ONNX model."""

    @classmethod
    def _default_config(cls, accelerator_spec: AcceleratorSpec) -> dict[str, PassConfigParam]:
        del accelerator_spec
        config: dict[str, PassConfigParam] = get_external_data_config()
        return config

    def made(self, config: BasePassConfig) -> ir.passes.PassBase:
        """The pass of onnx_ir."""
        raise NotImplementedError

    def _run_for_config(
        self, model: ONNXModelHandler, config: BasePassConfig, output_model_path: str
    ) -> ONNXModelHandler:
        result = self.made(config)(ir.load(model.model_path))
        target = resolve_onnx_path(output_model_path, Path(model.model_path).name)
        return ir_model_to_olive_model(result.model, target, config)


class SonnxConform(SonnxPass):
    """Fixes violations of the profile; without `rounding` no result changes."""

    @classmethod
    def _default_config(cls, accelerator_spec: AcceleratorSpec) -> dict[str, PassConfigParam]:
        rounding = PassConfigParam(type_=bool, default_value=False)
        return {**super()._default_config(accelerator_spec), "rounding": rounding}

    def made(self, config: BasePassConfig) -> ir.passes.PassBase:
        """`conform`."""
        return ConformPass(rounding=config.rounding)


class SonnxEnforce(SonnxPass):
    """Lets each run of the model enforce the profile; the last pass."""

    def made(self, config: BasePassConfig) -> ir.passes.PassBase:
        """`rewrite`, with guards of standard operators."""
        del config
        return EnforcePass(backend="native", operators="profile")


def package() -> dict[str, object]:
    """The passes that Olive knows, and these."""
    known = Path(OlivePackageConfig.get_default_config_path()).read_text(encoding="utf-8")
    found: dict[str, dict[str, object]] = json.loads(known)
    for made in (SonnxConform, SonnxEnforce):
        found["passes"][made.__name__] = {
            "module_path": f"{Path(__file__).stem}.{made.__name__}",
            "supported_providers": ["CPUExecutionProvider"],
            "supported_accelerators": ["cpu"],
            "supported_precisions": ["*"],
        }
    return dict(found)


def small_model() -> onnx.ModelProto:
    """Rows times weights, plus a row that ONNX repeats."""
    made = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 20]>
        g (float[2,3] rows) => (float[2,4] y) <float[3,4] weights, float[4] bias> {
            [product] p = MatMul(rows, weights)
            [sum] y = Add(p, bias)
        }"""
    )
    for name, sizes in (("weights", (3, 4)), ("bias", (4,))):
        numbers = [number / 8 for number in range(math.prod(sizes))]
        made.graph.initializer.append(onnx.helper.make_tensor(name, 1, sizes, numbers))
    return made


STEPS: tuple[dict[str, object], ...] = (
    {"type": "SonnxConform"},
    {"type": "OnnxDynamicQuantization"},
    {"type": "SonnxConform", "rounding": True},
    {"type": "SonnxEnforce"},
)


def main() -> None:
    """Quantize a model that is conformed before and after, and say what each step left."""
    logging.disable()
    model = "model.onnx"
    onnx.save(small_model(), model)
    print(f"as it is: {len(sonnx_ort.check(model).violations)} violations")
    for number, step in enumerate(STEPS):
        workflow = {
            "input_model": {"type": "ONNXModel", "model_path": model},
            "passes": {"step": step},
            "output_dir": f"after{number}",
        }
        run(workflow, package_config=package())
        model = f"after{number}/model.onnx"
        print(f"{step['type']}: {len(sonnx_ort.check(model).violations)} violations")


if __name__ == "__main__":
    main()
