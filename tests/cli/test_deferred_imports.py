"""What no command computes with is not imported by it."""

from pathlib import Path

import onnx

from support.child import run_python
from support.graphs import parse

CALL = """
import sys
from sonnx_ort.cli import main
sys.argv = ["sonnx-ort", "check", {model!r}, "--quiet"]
try:
    main()
except SystemExit as end:
    print(end.code, "sympy.core" in sys.modules)
import onnx_ir
print(onnx_ir.SymbolicDim("n") + 1, "sympy.core" in sys.modules)
"""


def test_check_does_without_sympy_which_is_there_at_its_first_use(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    onnx.save(parse("(float[n] x) => (float[n] y) { y = Exp(x) }"), model)
    done = run_python(CALL.format(model=str(model)))
    assert (done.exit_status, done.stdout) == (0, "0 False\nn + 1 True\n"), done
