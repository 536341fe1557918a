"""Nodes that the python backend has no kernel for are refused, and told."""

from dataclasses import replace

import pytest

import sonnx_ort
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.enforcing import python_kernels as kernels
from support.graphs import binary_model, parse


def refusal(model: object, **choices: str) -> str:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(model, backend="python", **choices)
    return str(caught.value)


def test_attribute_that_no_kernel_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    computing = replace(CUSTOM_OPERATORS["BitShift"], arithmetic=CUSTOM_OPERATORS["Sub"].arithmetic)
    monkeypatch.setattr(kernels, "CUSTOM_OPERATORS", {"BitShift": computing})
    model = parse("""(uint8[n] a, uint8[m] b) => (uint8[n] c) {
        [shift] c = BitShift <direction = "LEFT"> (a, b)
    }""")
    assert refusal(model, operators="BitShift") == (
        "BitShift 'shift': the python backend has no kernel for it with the attribute 'direction'"
    )


def test_type_that_no_other_one_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    without = replace(CUSTOM_OPERATORS["Div"], carriers={})
    monkeypatch.setattr(kernels, "CUSTOM_OPERATORS", {"Div": without})
    assert refusal(binary_model("Div", "float16", ["n"], ["m"])) == (
        "Div 'the_node': the python backend has no kernel for it in float16"
    )
