"""The certificate of a conformed model has the contract within which it was conformed."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

import sonnx_ort
from sonnx_ort import Contract, ShapeContract, SizeContract, StateContract, ValueContract
from sonnx_ort.checker import FORMAT, Rejected, check
from sonnx_ort.checker.contracts import Limited
from sonnx_ort.profile.both_contracts import ASSUMED_CONTRACT
from sonnx_ort.profile.contract import contract_document
from support.graphs import parse

MODEL = "(float[n, 4] x, float[-1] y) => (float[p, 4] z) { z = Abs(x) }"
OWN = Contract((ValueContract("x", (0, 9)),), sizes=(SizeContract("n", 5, 8),))
SAID = '[{"value": "x", "range": [0, 9]}, {"size": "n", "range": [5, 8]}]'
UNKNOWN = "the contract of the conformed model has something that is not known"
LACKS = "the model was conformed within a contract, which the certificate lacks"


def said(contract: Contract | None, *metadata: tuple[str, str]) -> str:
    """What the checker says of a model with metadata, and of a certificate under a contract."""
    model = parse(MODEL)
    for key, value in metadata:
        model.metadata_props.add(key=key, value=value)
    content = model.SerializeToString()
    digest = hashlib.sha256(content).hexdigest()
    certificate: dict[str, Any] = {"format": FORMAT, "model": digest, "obligations": []}
    if contract is not None:
        certificate["contract"] = contract_document(contract)
    try:
        return check(content, certificate)
    except Rejected as reason:
        return str(reason)


CONFORMED = (ASSUMED_CONTRACT, SAID)
KEPT = "0 checks hold in every run whose values keep the contract"
NARROWER = Contract((ValueContract("x", (1, 9)),), sizes=(SizeContract("n", 6, 8),))
WIDER = Contract((ValueContract("x", (0, 10)),), sizes=OWN.sizes)
OF_ANOTHER_VALUE = Contract((ValueContract("z", (0, 9)),), sizes=OWN.sizes)
CERTIFICATES: Mapping[str, tuple[Contract | None, tuple[tuple[str, str], ...], str]] = {
    "the same contract": (OWN, (CONFORMED,), KEPT),
    "a narrower contract": (NARROWER, (CONFORMED,), KEPT),
    "no contract": (None, (CONFORMED,), LACKS),
    "no contract, behind other metadata": (None, (("author", ""), CONFORMED), LACKS),
    "a wider contract": (WIDER, (CONFORMED,), LACKS),
    "a contract of another value": (OF_ANOTHER_VALUE, (CONFORMED,), LACKS),
    "the second of two contracts": (
        *(OWN, (CONFORMED, (ASSUMED_CONTRACT, '[{"size": "n", "range": [5, 5]}]'))),
        LACKS,
    ),
    "no contract of JSON": (
        *(OWN, ((ASSUMED_CONTRACT, "["),)),
        (
            "the contract of the conformed model: JSONDecodeError('Expecting value: line 1 "
            "column 2 (char 1)')"
        ),
    ),
    "a shape of no sizes": (
        *(OWN, ((ASSUMED_CONTRACT, '[{"input": "x"}]'),)),
        "the contract of the conformed model: KeyError('shape')",
    ),
    "a contract that contradicts the given one": (
        *(OWN, ((ASSUMED_CONTRACT, '[{"size": "n", "range": [1, 4]}]'),)),
        (
            "the contract of the conformed model: ContradictionError("
            "\"no size of 'n' is allowed by both\")"
        ),
    ),
    "an entry of another kind": (
        *(OWN, ((ASSUMED_CONTRACT, SAID.replace("[{", '[{"shape": "x"}, {', 1)),)),
        UNKNOWN,
    ),
    "an entry with another key": (
        *(OWN, ((ASSUMED_CONTRACT, SAID.replace('"range"', '"unit": 3, "range"', 1)),)),
        UNKNOWN,
    ),
    "other metadata": (None, (("author", SAID),), "0 checks hold in every run"),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_certificate_has_the_contract_of_the_conformed_model(name: str) -> None:
    contract, metadata, expected = CERTIFICATES[name]
    assert said(contract, *metadata) == expected


def test_certify_gives_the_certificate_that_contract(tmp_path: Path) -> None:
    model = parse(MODEL)
    model.metadata_props.add(key=ASSUMED_CONTRACT, value=SAID)
    onnx.save(model, tmp_path / "m.onnx")
    made = sonnx_ort.certify(tmp_path / "m.onnx", operators="profile")
    assert made.content["contract"] == contract_document(OWN)


TWICE = "the contract names something twice"
SAME = (ValueContract("x", (0, 1)), ValueContract("v", (0, 1)), ValueContract("z", (0, 1)))
FOREIGN: Mapping[str, tuple[Contract, str]] = {
    "a state": (Contract(SAME, states=(StateContract("x", "z"),)), ""),
    "a state that is no input": (Contract(SAME, states=(StateContract("v", "z"),)),
        "'v' is no state that 'z' carries on"),
    "a state twice": (Contract(SAME, states=(StateContract("x", "z"),) * 2), TWICE),
    "a shape twice": (Contract(shapes=(ShapeContract("x", (1, 4)),) * 2), TWICE),
    "a size twice": (Contract(sizes=(SizeContract("n", 1, 8),) * 2), TWICE),
    "a multiple of nothing": (Contract(sizes=(SizeContract("n", 0, 8, 0),)), "'n' has no size"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_contract_that_no_file_can_have_is_rejected(name: str) -> None:
    contract, reason = FOREIGN[name]
    proto = parse("(float[n, 4] x) => (float[p, 4] z) { v = Abs(x) z = Neg(v) }")
    found = ""
    try:
        Limited(proto, contract)
    except Rejected as error:
        found = str(error)
    assert found == reason
