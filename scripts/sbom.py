"""Write the bill of materials of the package: `python3 scripts/sbom.py`.

sonnx_ort.cdx.json says, in CycloneDX, what is in the distributions that others own, and which
packages they need. setup.py puts it into the wheel, where PEP 770 has it.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from environment import ROOT, run_in_environment

run_in_environment()

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sonnx_ort.models import Example, examples
from sonnx_ort.models.manifest import DATA
from sonnx_ort.versions import VERSION

BILL = ROOT / "sonnx_ort.cdx.json"
"""The bill of materials."""

_SPDX = {"CC BY 4.0": "CC-BY-4.0"}
"""Licences by their name in the manifest."""

Component = Mapping[str, Any]


def bill_of_materials() -> str:
    """The bill of materials, as JSON."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    package = {
        **_package(project["name"], VERSION),
        "licenses": [{"license": {"id": project["license"]}}],
    }
    required = [_required(requirement) for requirement in project["dependencies"]]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": package},
        "components": [*required, *(file for e in examples() for file in _files_of_others(e))],
        "dependencies": [
            {"ref": package["bom-ref"], "dependsOn": [one["bom-ref"] for one in required]}
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _package(name: str, version: str = "") -> dict[str, Any]:
    place = f"pkg:pypi/{canonicalize_name(name)}"
    if version:
        place = f"{place}@{version}"
    component = {"type": "library", "bom-ref": place, "name": name, "purl": place}
    return component | ({"version": version} if version else {})


def _required(text: str) -> Component:
    """A package that an installation gets; which version, it decides."""
    requirement = Requirement(text)
    versions = {"name": "sonnx_ort:versions", "value": str(requirement.specifier)}
    return {**_package(requirement.name), "scope": "required", "properties": [versions]}


def _files_of_others(example: Example) -> Iterator[Component]:
    """The files of a bundled model that hold, or were made from, what others license."""
    for source in example.sources:
        if source.licence is None:
            continue
        for path in sorted(DATA.glob(f"{example.name}.*")):
            yield {
                "type": "machine-learning-model" if path.suffix == ".onnx" else "data",
                "bom-ref": f"models/data/{path.name}",
                "name": f"models/data/{path.name}",
                "description": f"{source.document}, {source.section}",
                "hashes": [
                    {"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}
                ],
                "licenses": [{"license": {"id": _SPDX[source.licence]}}],
            }


if __name__ == "__main__":
    BILL.write_text(bill_of_materials(), "utf-8")
