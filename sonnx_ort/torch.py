"""`export`: exports a module of PyTorch as a model that keeps the profile.

PyTorch is imported when a module is exported; the extra `torch` of this package has it.
"""

from collections.abc import Sequence
from typing import Any

from sonnx_ort.analysis.contracts import ContractSource
from sonnx_ort.analysis.report import ModelRejected
from sonnx_ort.api.checking import check
from sonnx_ort.conforming.conformity import conform
from sonnx_ort.errors import SonnxError
from sonnx_ort.options import PROFILE, OperatorsChoice, Waivers
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.options import BroadcastChoice, EditionChoice


def export(  # noqa: PLR0913 - one for each choice
    module: Any,
    args: Sequence[Any] = (),
    *,
    edition: EditionChoice = "typed",
    broadcast: BroadcastChoice = "reject",
    operators: OperatorsChoice = PROFILE,
    rounding: bool = False,
    waivers: Waivers = (),
    contract: ContractSource = NO_CONTRACT,
    **options: Any,
) -> Any:
    """Export a module by `torch.onnx.export(dynamo=True)`, conform the model, and check it.

    Args:
        module: A `torch.nn.Module`, or what else `torch.onnx.export` takes.
        args: Its example inputs, in their order.
        edition: As for `check`.
        broadcast: As for `check`.
        operators: The operators that have to keep the profile, as for `check`; the whole profile by
            default.
        rounding: Whether `conform` may make changes after which results may be rounded differently.
        waivers: The accepted violations, as for `check`.
        contract: What inputs and other values may be, as for `check`.
        **options: Those of `torch.onnx.export`, such as `dynamic_shapes` and `input_names`, without
            `f` and `dynamo`.

    Returns:
        A `torch.onnx.ONNXProgram`, whose `model` is conformed. Its `save` writes a file.

    Raises:
        ModelRejected: The conformed model violates the profile. The message names the rule, the
            node, and the line and the module in which PyTorch says that it was written.
        SonnxError: PyTorch or onnxscript is not installed, or an option is unknown. Errors of
            PyTorch stay its own.
    """
    onnx_of_torch = _onnx_of_torch()
    if unwanted := {"f", "dynamo"} & options.keys():
        raise SonnxError(
            f"export takes no argument '{min(unwanted)}': it exports with dynamo=True and gives a "
            "program, whose method `save` writes a file"
        )
    program = onnx_of_torch.export(
        module, tuple(args), dynamo=True, **{"verbose": False, **options}
    )
    conformed = conform(
        program.model,
        edition=edition,
        broadcast=broadcast,
        operators=operators,
        rounding=rounding,
        contract=contract,
    )
    report = check(
        conformed.model,
        edition=edition,
        broadcast=broadcast,
        operators=operators,
        waivers=waivers,
        contract=contract,
    )
    if not report.ok:
        raise ModelRejected(report)
    program.model = conformed.model
    return program


def _onnx_of_torch() -> Any:
    """PyTorch's exporter.

    Raises:
        SonnxError: A package that it needs is not installed.
    """
    try:
        import onnxscript  # noqa: F401, PLC0415 - its use needs no PyTorch
        import torch.onnx  # noqa: PLC0415
    except ImportError as error:
        raise SonnxError(
            f"sonnx_ort.torch needs PyTorch and onnxscript ({error}); install them with "
            "pip install torch onnxscript"
        ) from error
    return torch.onnx
