"""Checks a certificate: `python -m checker model.onnx certificate.json [enforced.onnx]`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .certificate import check
from .sizes import Rejected


def main(arguments: Sequence[str]) -> int:
    """Check the certificate of a model; the exit status is 0, or 1 if it is rejected."""
    model, certificate, *enforced = map(Path, arguments)
    try:
        contents = (model.read_bytes(), json.loads(certificate.read_text(encoding="utf-8")))
        print(check(*contents, *(path.read_bytes() for path in enforced)))
    except (Rejected, OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        print(f"rejected: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
