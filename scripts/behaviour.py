"""Write down what the product says and makes of models, and compare it after a change.

    python3 scripts/behaviour.py write FILE      # before the change
    python3 scripts/behaviour.py compare FILE    # after it

For the bundled models, the published ones and the tests of all operators in the package onnx, with
both editions, treatments of broadcasts and all backends: each obligation with its status, evidence
and remedy, each node that `rewrite` writes and the digest of the file, and what `conform` changes.
`--only PATTERN` takes some models, such as `onnx/test_div*`. `compare` shows the lines that differ
and ends with status 1 if there are any: what is meant to change has to be looked at.
"""

import argparse
import difflib
import fnmatch
import gzip
import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice, product
from pathlib import Path

from environment import ROOT, exit_status, run_in_environment

run_in_environment()

import onnx
from onnx.backend.test.case.node import collect_testcases
from real_models.packages import CACHE, PackagesNotFetched, fetch_models

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.backends import Backend
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.options import RewriteOptions
from sonnx_ort.profile.options import Broadcasting, Edition

Said = Mapping[str, list[str]]
"""What is said of a model, or made of it, in lines by what was asked for."""

_SHOWN = 20
"""How many lines of a difference are shown."""


def main() -> int:
    """Write or compare; give the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("file", type=Path, help="the record, compressed JSON")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="names of models")
    options = parser.parse_args()
    try:
        sources = dict(_models(options.only))
    except PackagesNotFetched as error:
        print(error, file=sys.stderr)
        return 2
    if not sources:
        print(f"No model has a name like {options.only}.", file=sys.stderr)
        return 2
    with ProcessPoolExecutor() as executor:
        found = dict(zip(sources, executor.map(describe, sources.values()), strict=True))
    if options.what == "write":
        options.file.write_bytes(gzip.compress(json.dumps(found).encode()))
        print(f"{options.file}: written, {len(found)} models")
        return 0
    before = json.loads(gzip.decompress(options.file.read_bytes()))
    kept = {name: before[name] for name in fnmatch.filter(before, options.only)}
    differences = list(compare(kept, found))
    print(*differences, f"{len(found)} models, {len(differences)} differences", sep="\n")
    return 1 if differences else 0


def _models(pattern: str) -> Iterator[tuple[str, Path | bytes]]:
    """The models whose names match a pattern.

    Raises:
        PackagesNotFetched: The published ones could not be downloaded.
    """
    found: dict[str, Path | bytes] = {
        f"bundled/{name}": models.path(name) for name in models.names()
    }
    if not pattern.startswith(("bundled/", "onnx/")):
        published = fetch_models(ROOT / CACHE)
        found |= {f"published/{name}": path for name, path in published.items()}
    if not pattern.startswith(("bundled/", "published/")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # casts of the generators
            tests = ((test.name, test.model) for test in collect_testcases(None))
            found |= {f"onnx/{name}": made.SerializeToString() for name, made in tests if made}
    yield from ((name, found[name]) for name in fnmatch.filter(found, pattern))


def describe(model: Path | bytes) -> Said:
    """What is said of a model with each choice, and what is made of it."""
    said = {}
    for edition, broadcast in product(Edition, Broadcasting):
        choices: RewriteOptions = {"edition": edition, "broadcast": broadcast}
        name = f"{edition}, {broadcast}"
        said[f"check, {name}"] = _lines(partial(_checked, model, edition, broadcast))
        for backend, operators in product(Backend, ("default", "profile")):
            chosen = choices | RewriteOptions(backend=backend, operators=operators)
            said[f"rewrite, {name}, {operators}, {backend}"] = _lines(
                partial(_rewritten, model, chosen)
            )
    said["conform"] = _lines(partial(_conformed, model))
    return said


def _lines(make: Callable[[], Iterable[str]]) -> list[str]:
    """The lines, or that of the error: one that is not the product's is a fault in both records."""
    try:
        return list(make())
    except Exception as error:  # noqa: BLE001 - whatever it is, it is written down
        return [type(error).__name__, *str(error).splitlines()]


def _checked(model: Path | bytes, edition: Edition, broadcast: Broadcasting) -> Iterator[str]:
    report = sonnx_ort.check(model, edition=edition, broadcast=broadcast)
    for o in report.obligations:
        fields = (o.place, o.rule.id, str(o.status), o.evidence, o.hint, o.mendable)
        yield " | ".join(fields)
    yield from (f"finding: {f.place}: {f.rule.id}: {f.detail}" for f in report.findings)


def _rewritten(model: Path | bytes, options: RewriteOptions) -> Iterator[str]:
    return _written(sonnx_ort.rewrite(model, **options))


def _written(model: onnx.ModelProto) -> Iterator[str]:
    yield hashlib.sha256(model.SerializeToString(deterministic=True)).hexdigest()
    for node in all_nodes(model):
        attributes = sorted(attribute.name for attribute in node.attribute)
        fields = (node.name, node.op_type, *node.input, "->", *node.output, *attributes)
        yield f"{node.domain}::{' '.join(fields)}"


def _conformed(model: Path | bytes) -> Iterator[str]:
    conformed = sonnx_ort.conform(model)
    yield from (f"{made.title} at {made.operator} '{made.node}'" for made in conformed.changes)
    yield from _written(conformed.model)


def compare(before: Mapping[str, Said], after: Mapping[str, Said]) -> Iterator[str]:
    """Say what differs: models that only one record has, and the lines of the others."""
    for name in sorted({*before, *after}):
        if name not in before or name not in after:
            yield f"{name}: only {'after' if name in after else 'before'}"
            continue
        for asked in sorted({*before[name], *after[name]}):
            then, now = (said[name].get(asked, []) for said in (before, after))
            changed = list(islice(difflib.unified_diff(then, now, n=0, lineterm=""), 2, None))
            if changed:
                more = [f"... {len(changed) - _SHOWN} lines more"] * (len(changed) > _SHOWN)
                yield "\n  ".join([f"{name}, {asked}:", *changed[:_SHOWN], *more])


if __name__ == "__main__":
    sys.exit(exit_status(main))
