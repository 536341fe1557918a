"""`campaigns.py bytes`: bytes that lead into code which no bytes before them reached.

atheris changes the bytes of small bundled models, measures which code of sonnx_ort and onnx each
reaches, and goes on from those that reach more. `sonnx_ort.rewrite` gets them, for the native
backend, and has to end in a result or a `SonnxError`. What fails is written to
build/fuzzing/bytes; give such a file to `python scripts/fuzz_bytes.py FILE` to try it again.
Nothing is recorded. Needs atheris, which is in no lock file: it has no build for some systems.
"""

import contextlib
import importlib.util
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from environment import ROOT
from records import make_parser

FOLDER = ROOT / "build" / "fuzzing" / "bytes"
"""What it goes on from, in `corpus`, and what failed."""

_LARGEST = 6000
"""The bytes of the largest models that it begins with, and of those that it makes of them."""

_LIMITS = ("-rss_limit_mb=3000", "-timeout=60", f"-max_len={_LARGEST}", "-len_control=0")
"""Options of libFuzzer: megabytes and seconds for each model, and long ones from the start."""


def run(arguments: Sequence[str]) -> int:
    """Fuzz for some seconds; give 1 if something failed, 2 if atheris is not installed."""
    options = make_parser(__doc__, None, seconds=math.inf, seed=0).parse_args(arguments)
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed. Run `pip install atheris`.", file=sys.stderr)
        return 2
    corpus = FOLDER / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for model in (ROOT / "models" / "data").glob("*.onnx"):
        if model.stat().st_size <= _LARGEST:
            shutil.copy(model, corpus)
    # A limit of 0 is none.
    seconds = 0 if math.isinf(options.seconds) else max(1, round(options.seconds))
    named = (f"-max_total_time={seconds}", f"-seed={options.seed}", f"-artifact_prefix={FOLDER}/")
    command = [sys.executable, __file__, *_LIMITS, *named, str(corpus)]
    places = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, places)), "PYTHONWARNINGS": "ignore"}
    # libFuzzer ends its process itself.
    done = subprocess.run(command, env=os.environ | variables, check=False)
    return int(done.returncode != 0)


def _fuzz() -> None:
    import atheris  # noqa: PLC0415 - only this process needs it

    # Coverage is measured in what is imported here, and much is imported at the first use only.
    with atheris.instrument_imports(include=["sonnx_ort", "onnx"]):
        import sonnx_ort  # noqa: PLC0415
        from sonnx_ort.errors import SonnxError  # noqa: PLC0415

        sonnx_ort.rewrite(sonnx_ort.models.path("div_int32"), backend="native")

    def attempt(content: bytes) -> None:
        with contextlib.suppress(SonnxError):
            sonnx_ort.rewrite(bytes(content), backend="native")

    atheris.Setup(sys.argv, attempt)
    atheris.Fuzz()


if __name__ == "__main__":
    _fuzz()
