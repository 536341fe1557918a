"""Names and texts of a model do nothing where they are shown: in no command, and in no format."""

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sonnx_ort
from sonnx_ort.errors import escaped, printable, restored
from support.backends import BACKENDS
from support.command import command

ACTING = "\x1b]8;;http://x\x07\u202e\u2066\u200b\x7f\x9b\u2028\nkept"
"""An escape sequence, marks of direction, what has no width, controls and breaks of lines."""

BYTES = [each.encode() for each in ACTING if not (each.isprintable() or each == "\n")]
BROKEN = "\nkept"


def named(text: str) -> str:
    return f"{text}{ACTING}"


def model(size: int | str = 1) -> onnx.ModelProto:
    """A model of which each text acts, with a violation if the size of an operand is 1."""
    x, y, z, w, one = map(named, ("x", "y", "z", "w", "one"))
    floats = TensorProto.FLOAT
    inputs = [
        helper.make_tensor_value_info(x, floats, [named("n"), 3], doc_string=ACTING),
        helper.make_tensor_value_info(y, floats, [named("n"), size]),
    ]
    body = helper.make_graph(
        [helper.make_node("Div", [x, y], [w], named("inner"))],
        named("body"),
        [],
        [helper.make_tensor_value_info(w, floats, None)],
    )
    nodes = [
        helper.make_node("Div", [x, y], [z], named("divide"), doc_string=ACTING),
        helper.make_node(
            "If", [one], [named("chosen")], named("if"), then_branch=body, else_branch=body
        ),
        helper.make_node("Cast", [z], [named("cast")], named("to"), to=TensorProto.DOUBLE),
    ]
    nodes[0].metadata_props.add(key=ACTING, value=ACTING)
    outputs = [
        helper.make_tensor_value_info(named("cast"), TensorProto.DOUBLE, [named("n"), 3]),
        helper.make_tensor_value_info(named("chosen"), floats, None),
    ]
    flag = TensorProto(name=one, data_type=TensorProto.BOOL, doc_string=ACTING)
    flag.raw_data = b"\1"
    graph = helper.make_graph(nodes, named("graph"), inputs, outputs, [flag])
    made = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=10,
        producer_name=ACTING,
        doc_string=ACTING,
    )
    helper.set_model_props(made, {ACTING: ACTING})
    return made


COMMANDS = [
    *(
        ("check", "MODEL", "--format", each)
        for each in ("json", "sarif", "junit", "html", "github", "overlay")
    ),
    ("check", "MODEL"),
    ("check", "MODEL", "OTHER"),
    ("check", "MODEL", "-v"),
    ("check", "OTHER", "-v"),
    ("check", "OTHER", "--format", "github", "--fail-on", "runtime"),
    ("check", "FOLDER", "--statistics"),
    ("conform", "MODEL", "--diff"),
    ("conform", "OTHER", "--diff", "-o", "MADE"),
    ("rewrite", "MODEL", "-o", "MADE"),
    ("rewrite", "OTHER", "-o", "MADE", "--record", "RECORD"),
    ("run", "OTHER"),
    ("run", "OTHER", "--input", "X", "--input", "Y"),
    ("run", "OTHER", "--input", "X", "--input", "WRONG"),
    ("run", "OTHER", "--input", "X", "--input", "WRONG", "--backend", "native"),
    ("diff", "MODEL", "OTHER"),
    ("diff", "OTHER", "OTHER", "--input", "X", "--input", "Y", "--all"),
    ("diff", "OTHER", "OTHER", "--input", "X", "--input", "WRONG"),
    ("diff", "OTHER", "OTHER", "--samples", "2", "--size", "k=1", "--all"),
    ("reduce", "OTHER", "-o", "MADE", "--dies"),
    (
        *("reduce", "OTHER", "-o", "MADE", "--violates", "Div.float.R1"),
        *("--input", "X", "--input", "WRONG"),
    ),
    *(
        ("audit", "OTHER", "--input", "X", "--input", "Y", "--enclose", "--format", each)
        for each in ("text", "json", "junit", "html")
    ),
    ("audit", "OTHER", "--input", "X", "--input", "Y", "-v"),
    ("certify", "OTHER", "-o", "MADE", "-v"),
    ("check", "MISSING"),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_command_writes_what_acts(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "MODEL": "m\x1b\u202e.onnx",
        "OTHER": "o\x1b\u202e.onnx",
        "MADE": "made\x1b\u202e",
        "RECORD": "record\x1b\u202e",
        "MISSING": "none\x1b\u202e\n.onnx",
        "FOLDER": ".",
        "X": f"{named('x')}=x\x1b.npy",
        "Y": f"{named('y')}=y\x1b.npy",
        "WRONG": f"{named('y')}=wrong\x1b.npy",
    }
    onnx.save(model(), files["MODEL"])
    onnx.save(model("k"), files["OTHER"])
    np.save("x\x1b.npy", np.ones((2, 3), np.float32))
    np.save("y\x1b.npy", np.ones((2, 3), np.float32))
    np.save("wrong\x1b.npy", np.ones((2, 1), np.float32))
    done = command(*(files.get(each, each) for each in arguments))
    assert "Traceback" not in done.stderr
    written = (done.stdout + done.stderr).encode()
    assert written
    assert [each for each in BYTES if each in written] == []
    assert BROKEN not in done.stdout + done.stderr


@BACKENDS
@pytest.mark.parametrize("name", ["a\0b", "a\x1b\u202e\n", "\\x41", "back\\slash", "é 中"])
def test_violation_names_the_node_whatever_its_name(backend: str, name: str) -> None:
    node = helper.make_node("Div", ["x", "y"], ["z"], name)
    floats = TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(each, floats, [size]) for each, size in ("xn", "ym")]
    output = helper.make_tensor_value_info("z", floats, None)
    graph = helper.make_graph([node], "g", inputs, [output])
    opsets = [helper.make_opsetid("", 20)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    written = sonnx_ort.rewrite(made, backend=backend)
    session = sonnx_ort.InferenceSession(written, backend=backend)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"x": np.ones(3, np.float32), "y": np.ones(1, np.float32)})
    assert (caught.value.rule, caught.value.node) == ("Div.float.R1", name)
    assert str(caught.value).isprintable()
    assert sonnx_ort.rewrite(written, backend=backend) == written


def test_printable_text_stays_as_it_is() -> None:
    for text in ("é 中文 עברית", "back\\slash", "C:\\models\\n.onnx", "100 %, 'a' \"b\""):
        assert printable(text) == text


def test_what_does_not_print_is_an_escape() -> None:
    assert printable("a\x1b\n\0\u202e\U000e0001\ud800") == (
        "a\\x1b\\x0a\\x00\\u202e\\U000e0001\\ud800"
    )


def test_escaped_names_can_be_restored() -> None:
    for letters in itertools.product("\\x1b\x1b\n", repeat=5):
        name = "".join(letters)
        assert escaped(name).isprintable()
        assert restored(escaped(name)) == name
