"""An ONNX Runtime plugin that enforces SONNX, the safety-related profile of ONNX.

model = sonnx_ort.rewrite("model.onnx")
options = sonnx_ort.register(onnxruntime.SessionOptions())
session = onnxruntime.InferenceSession(model.SerializeToString(), options)

Each name is imported when it is first used: `register` needs no graph library, whose import takes
longer than all else together.
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from sonnx_ort.deferred_sympy import defer_sympy
from sonnx_ort.errors import ContractViolation, InvalidModel, SonnxError
from sonnx_ort.errors.notebook import show_by
from sonnx_ort.versions import VERSION

if TYPE_CHECKING:
    from sonnx_ort import models
    from sonnx_ort.analysis.obligation import Obligation
    from sonnx_ort.analysis.report import ModelRejected, Report
    from sonnx_ort.analysis.waivers import Waiver
    from sonnx_ort.api.checking import check
    from sonnx_ort.api.files import certify, rewrite_file
    from sonnx_ort.api.rewriting import rewrite
    from sonnx_ort.backends import Backend
    from sonnx_ort.conforming.conformity import Conformed, conform, conform_file
    from sonnx_ort.custom_ops.compiled.library import kernels_library
    from sonnx_ort.evidence.verification import Verification, verify
    from sonnx_ort.installation.self_checking import SelfCheck, self_check
    from sonnx_ort.ort.registration import register
    from sonnx_ort.ort.session import InferenceSession
    from sonnx_ort.profile.contract import (
        Contract,
        ShapeContract,
        SizeContract,
        StateContract,
        TypeContract,
        ValueContract,
    )
    from sonnx_ort.profile.options import Broadcasting, Edition
    from sonnx_ort.profile.rule import Status
    from sonnx_ort.runs.audit.audit import Audit, audit
    from sonnx_ort.runs.reduce.reduction import Reduced, reduce
    from sonnx_ort.samples import propose_contract

__all__ = [
    "Audit",
    "Backend",
    "Broadcasting",
    "Conformed",
    "Contract",
    "ContractViolation",
    "Edition",
    "InferenceSession",
    "InvalidModel",
    "ModelRejected",
    "Obligation",
    "Reduced",
    "Report",
    "SelfCheck",
    "ShapeContract",
    "SizeContract",
    "SonnxError",
    "StateContract",
    "Status",
    "TypeContract",
    "ValueContract",
    "Verification",
    "Waiver",
    "audit",
    "certify",
    "check",
    "conform",
    "conform_file",
    "kernels_library",
    "models",
    "propose_contract",
    "reduce",
    "register",
    "rewrite",
    "rewrite_file",
    "self_check",
    "verify",
]

__version__ = VERSION

defer_sympy()
show_by("sonnx_ort.reporting.notebook")

_HERE = Path(__file__).resolve().parent
_OUTER_FILES = ("custom_ops/registration.py", "models/manifest.json")


def _has_outer_files(folder: Path) -> bool:
    return all((folder / file).is_file() for file in _OUTER_FILES)


# A clone has custom_ops and models beside this folder. In an installed package they are inside, and
# what lies beside it belongs to others.
if not _has_outer_files(_HERE) and _has_outer_files(_HERE.parent):
    __path__.append(str(_HERE.parent))

_MODULES = {
    "Audit": "runs.audit.audit",
    "Backend": "backends",
    "Broadcasting": "profile.options",
    "Conformed": "conforming.conformity",
    "Contract": "profile.contract",
    "Edition": "profile.options",
    "InferenceSession": "ort.session",
    "ModelRejected": "analysis.report",
    "Obligation": "analysis.obligation",
    "Reduced": "runs.reduce.reduction",
    "Report": "analysis.report",
    "SelfCheck": "installation.self_checking",
    "Status": "profile.rule",
    "Verification": "evidence.verification",
    "ShapeContract": "profile.contract",
    "SizeContract": "profile.contract",
    "StateContract": "profile.contract",
    "TypeContract": "profile.contract",
    "ValueContract": "profile.contract",
    "Waiver": "analysis.waivers",
    "audit": "runs.audit.audit",
    "certify": "api.files",
    "check": "api.checking",
    "conform": "conforming.conformity",
    "conform_file": "conforming.conformity",
    "kernels_library": "custom_ops.compiled.library",
    "propose_contract": "samples",
    "reduce": "runs.reduce.reduction",
    "register": "ort.registration",
    "rewrite": "api.rewriting",
    "rewrite_file": "api.files",
    "self_check": "installation.self_checking",
    "verify": "evidence.verification",
}
"""Where each public name comes from."""


def __getattr__(name: str) -> object:
    """Import a public name, or a bundled package, where it is used for the first time."""
    if name == "models":
        return importlib.import_module("sonnx_ort.models")
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value: object = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names alone, also those that are not imported yet."""
    return sorted([*__all__, "__version__"])
