"""The certificate of a conformed model has the contract within which it was conformed."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

import sonnx_ort
from sonnx_ort import Contract, SizeContract, ValueContract
from sonnx_ort.checker import FORMAT, Rejected, check
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
