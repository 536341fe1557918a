"""What docs/campaigns.md tells of the recorded campaigns is what their records hold."""

import json
import re
from collections import Counter

from support.package_copy import REPOSITORY

DOCUMENTATION = REPOSITORY / "docs"
ROW = re.compile(r"^\| (.+?) \| `scripts/\w+\.py` \| ([\d,]+) \| ([\d,]+) \| ", re.MULTILINE)


def recorded(name: str) -> dict:
    return json.loads((DOCUMENTATION / "records" / f"{name}.json").read_text("utf-8"))


def test_page_tells_what_was_recorded() -> None:
    page = (DOCUMENTATION / "campaigns.md").read_text("utf-8")
    told = {
        name: (int(tried.replace(",", "")), int(failed.replace(",", "")))
        for name, tried, failed in ROW.findall(page)
    }
    fuzzing, graphs = recorded("fuzzing"), recorded("random_graphs")
    failures = sum(len(part["failures"]) for part in graphs["parts"])
    assert told == {
        "mutated models": (fuzzing["models"], len(fuzzing["faults"])),
        "random graphs": (graphs["graphs"], failures),
        **{
            name: (case["repetitions"], int(case["exceeds"]))
            for name, case in recorded("memory")["cases"].items()
        },
    }


def test_page_tells_how_many_obligations_were_kept_and_broken() -> None:
    page = (DOCUMENTATION / "campaigns.md").read_text("utf-8")
    counts: Counter[str] = Counter()
    for part in recorded("random_graphs")["parts"]:
        counts.update(part["counts"])
    kept, broken = counts["runtime kept"], counts["runtime broken"]
    assert (
        f"{counts['proved kept']:,} obligations were proved and kept, "
        f"{counts['violated broken']:,} violated and broken, "
        f"and {kept + broken:,} left to the run, which broke {broken:,}"
    ) in " ".join(page.split())
