"""The own declarations of ONNX Runtime's C interface have the places of the real ones."""

import re
import shutil
import subprocess

import pytest

from support.compiled import HEADER, SOURCES

OWN = SOURCES / "onnxruntime_abi.h"

NEWER = frozenset({"GetTensorElementTypeAndShapeDataReference"})
"""What an older header may lack."""

STRUCTS = ("OrtApi", "OrtApiBase", "OrtCustomOp")


def fields(struct: str) -> list[str]:
    """The fields of a struct that are used."""
    [body] = re.findall(rf"struct {struct} \{{(.*?)\n\}};", OWN.read_text("utf-8"), re.DOTALL)
    return re.findall(r"\* (\w+)\)\(", body)


@pytest.mark.parametrize("struct", STRUCTS)
def test_places_are_written_down(struct):
    assert fields(struct)


@pytest.mark.skipif(not HEADER.is_file(), reason="needs the header of ONNX Runtime")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("struct", STRUCTS)
def test_places_are_those_of_the_header(struct, tmp_path):
    source = tmp_path / "places.cc"
    lines = ["#include <cstddef>", "#include <cstdint>", "namespace own {", f'#include "{OWN}"']
    lines += ["}", f'#include "{HEADER}"']
    lines += [
        f'static_assert(offsetof(own::{struct}, {name}) == offsetof({struct}, {name}), "{name}");'
        for name in fields(struct)
        if name in HEADER.read_text("utf-8") or name not in NEWER
    ]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["g++", "-std=c++17", "-fsyntax-only", "-Wno-invalid-offsetof", str(source)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
