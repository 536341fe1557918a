"""An ONNX Runtime plugin that makes models keep to the SONNX profile.

model = sonnx_ort.rewrite("model.onnx")
options = sonnx_ort.register(onnxruntime.SessionOptions())
session = onnxruntime.InferenceSession(model.SerializeToString(), options)
"""

from sonnx_ort import models
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import ModelRejected, Report
from sonnx_ort.analysis.waiver import Waiver
from sonnx_ort.checking import check
from sonnx_ort.errors import ContractViolation, InvalidModel, SonnxError
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.rewriting.options import Backend
from sonnx_ort.rewriting.rewrite import rewrite
from sonnx_ort.rewriting.rewrite_file import rewrite_file
from sonnx_ort.runtime.registration import register
from sonnx_ort.runtime.session import InferenceSession
from sonnx_ort.verification import Verification, verify

__all__ = [
    "Backend",
    "Broadcasting",
    "ContractViolation",
    "Edition",
    "InferenceSession",
    "InvalidModel",
    "ModelRejected",
    "Obligation",
    "Report",
    "SonnxError",
    "Status",
    "Verification",
    "Waiver",
    "check",
    "models",
    "register",
    "rewrite",
    "rewrite_file",
    "verify",
]

__version__ = "0.1.0"
