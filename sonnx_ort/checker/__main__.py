"""Checks a certificate.

python -m sonnx_ort.checker model.onnx certificate.json [enforced.onnx]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sonnx_ort.checker import Rejected, check, read_certificate


def main(arguments: Sequence[str]) -> int:
    """Check the certificate of a model; the exit status is 0, or 1 if it is rejected."""
    parser = argparse.ArgumentParser(
        "sonnx_ort.checker", description="Check a certificate of a model."
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("certificate", type=Path)
    parser.add_argument("enforced", type=Path, nargs="?", help="the enforced model, if it has one")
    given = parser.parse_args(arguments)
    try:
        certificate = read_certificate(given.certificate.read_bytes())
        enforced = None if given.enforced is None else given.enforced.read_bytes()
        print(check(given.model.read_bytes(), certificate, enforced))
    except (Rejected, OSError) as error:
        print(f"rejected: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
