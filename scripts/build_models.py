#!/usr/bin/env python3
"""Builds the bundled models from code: `models/data/` and `models/manifest.json`.

python scripts/build_models.py            write every file
python scripts/build_models.py --check    say which files differ from what the code builds
python scripts/build_models.py --train    train the classifiers of digits again, then write
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from model_builders import digits, numbers, tiny_yolo
from model_builders.bundle import Bundle, read
from model_builders.digits import train
from model_builders.writer import contents

SUBJECTS = (
    *("documents", numbers.random_examples, numbers.floats, numbers.integers),
    *("constants", "broadcasting", "control_flow", "older_versions"),
    *(numbers.sparse_tensors, "products", "operators", "layout", "windows"),
    *(digits.bundles, tiny_yolo.bundles),
)
"""What gives models: files in `models/`, and functions. A new subject is one more entry."""


def bundles() -> Iterator[Bundle]:
    """Give every model."""
    for subject in SUBJECTS:
        yield from read(subject) if isinstance(subject, str) else subject()


MODELS = Path(__file__).resolve().parents[1] / "models"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build or check.

    Returns:
        The exit status: 1 if `--check` finds a difference, else 0.
    """
    parser = argparse.ArgumentParser(description="Build the bundled models.")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a file differs"
    )
    mode.add_argument(
        "--train", action="store_true", help="train first (needs scikit-learn, the group training)"
    )
    options = parser.parse_args(arguments)
    if options.train:
        try:
            print(train())
        except ImportError:
            parser.error("training needs scikit-learn: pip install --group training")
    files = contents(bundles())
    if options.check:
        return check(files)
    write(files)
    return 0


def check(files: Mapping[str, bytes]) -> int:
    """Compare the files in `models/` with what the code builds, and print the differences."""
    differences = [f"{name} is not what the code builds" for name in sorted(_stale(files))]
    differences += [f"{name} is built by no code" for name in sorted(_strays(files))]
    print("\n".join(differences) or f"{len(files)} files are what the code builds")
    if differences:
        print("run: python scripts/build_models.py")
    return int(bool(differences))


def write(files: Mapping[str, bytes]) -> None:
    """Write the files that differ, and delete those that no code builds."""
    (MODELS / "data").mkdir(exist_ok=True)
    stale, strays = _stale(files), _strays(files)
    for name in stale:
        (MODELS / name).write_bytes(files[name])
    for name in strays:
        (MODELS / name).unlink()
    print(f"{len(files)} files: {len(stale)} written, {len(strays)} deleted")


def _stale(files: Mapping[str, bytes]) -> list[str]:
    return [name for name, content in files.items() if _read(MODELS / name) != content]


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _strays(files: Mapping[str, bytes]) -> list[str]:
    existing = (path.relative_to(MODELS).as_posix() for path in (MODELS / "data").glob("*"))
    return [name for name in existing if name not in files]


if __name__ == "__main__":
    sys.exit(main())
