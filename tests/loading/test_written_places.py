"""What the file of a model says of where its nodes were written."""

import onnx_ir as ir
import pytest

from sonnx_ort.loading.written import Written, carry, written
from support.exported_models import DOC_STRING, NET, OF_DIV, OF_LINEAR, OF_SUB, WRITTEN

TRACE = "pkg.torch.onnx.stack_trace"


@pytest.mark.parametrize(
    ("properties", "place"),
    [
        (OF_DIV, WRITTEN),
        (OF_SUB, "written at /home/me/net.py:17 in Net.forward"),
        # The line of the user, not the one in PyTorch's module.
        (OF_LINEAR, "written at /home/me/net.py:17 in Net.forward, scope 'first'"),
        ({TRACE: NET}, "written at /home/me/net.py:17 in forward"),
        ({TRACE: OF_LINEAR[TRACE].partition("\n  F")[2].replace("ile", "File", 1)},
         "written at /venv/lib/python3.11/site-packages/torch/nn/modules/linear.py:134 in forward"),
        ({"pkg.torch.onnx.name_scopes": "['', 'scaling', 'div']"}, "written in scope 'scaling'"),
    ],
)  # fmt: skip
def test_metadata_of_pytorch_names_the_innermost_line_of_the_network(
    properties: dict[str, str], place: str
) -> None:
    assert str(written(properties)) == place


def test_function_has_no_class_where_calls_and_modules_do_not_pair() -> None:
    helper = f'{NET}\n  File "/home/me/net.py", line 30, in ratio\n    return a / b'
    place = written({**OF_DIV, TRACE: helper})
    assert str(place) == "written at /home/me/net.py:30 in ratio, scope 'scaling'"


@pytest.mark.parametrize(
    ("name", "producer", "scope"),
    [
        ("/scaling/Div", "pytorch", "scaling"),
        ("/layer1/layer1.0/conv/Conv", "pytorch", "layer1.0.conv"),
        ("/Div", "pytorch", ""),
        ("node_div", "pytorch", ""),
        ("sequential_1/dense_1/Add", "tf2onnx", "sequential_1/dense_1"),
        ("Div", "tf2onnx", ""),
        ("/scaling/Div", "another", ""),
    ],
)
def test_names_of_scopes_are_read_of_exporters_that_write_them(
    name: str, producer: str, scope: str
) -> None:
    place = written({}, name=name, producer=producer)
    assert place == (Written(scope=scope) if scope else None)


def test_doc_string_of_the_old_exporter_has_the_innermost_call_first() -> None:
    place = written({}, name="/scaling/Div", doc_string=DOC_STRING, producer="pytorch")
    assert str(place) == "written at /home/me/net.py:7 in forward, scope 'scaling'"


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {TRACE: ""},
        {TRACE: "no traceback"},
        {TRACE: 'File "net.py", line x, in f'},
        {TRACE: f'File "net.py", line {"9" * 5000}, in f'},
        {"pkg.torch.onnx.name_scopes": "["},
        {"pkg.torch.onnx.class_hierarchy": "[[[["},
    ],
)
def test_what_says_nothing_gives_no_place(properties: dict[str, str]) -> None:
    assert written(properties) is None


def test_claims_are_cut_and_printable() -> None:
    trace = f'File "/home/{"d" * 300}/\x1b[31mnet.py", line 7, in {"f" * 300}\n    x'
    place = written({TRACE: trace, "pkg.torch.onnx.name_scopes": f"['{'s' * 300}\u202e', 'div']"})
    assert place is not None
    assert place.file == "..." + f"/home/{'d' * 300}/\\x1b[31mnet.py"[-197:]
    assert place.function == "f" * 197 + "..."
    assert place.scope == "s" * 197 + "..."


def test_large_claim_is_read_in_part() -> None:
    trace = 'File "a.py", line 1, in f\n' * 1_000_000
    assert str(written({TRACE: trace})) == "written at a.py:1 in f"


def test_document_has_what_is_known() -> None:
    assert Written("net.py", 7, "forward").document() == {
        "file": "net.py",
        "line": 7,
        "function": "forward",
    }


def test_node_in_the_place_of_another_says_where_that_was_written() -> None:
    node = ir.node("Shape", [])
    carry({**OF_DIV, "custom": "x", "sonnx_ort.group": "1"}, node)
    assert node.metadata_props == {
        key: value for key, value in OF_DIV.items() if key != "pkg.torch.onnx.fx_node"
    }


def test_node_that_says_where_it_was_written_keeps_that() -> None:
    node = ir.node("Shape", [], metadata_props={TRACE: "own"})
    carry({TRACE: "other"}, node)
    assert node.metadata_props == {TRACE: "own"}
