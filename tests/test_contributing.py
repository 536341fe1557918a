"""CONTRIBUTING.md: whoever follows it has an operator that is enforced."""

import pytest
from navigation import expanded

from support.package_copy import PackageCopy, followed, steps


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> PackageCopy:
    return followed(tmp_path_factory.mktemp("walk-through"))


def test_walk_through_gives_what_it_says(copy: PackageCopy) -> None:
    code = next(text for _, _, text in steps() if text.startswith("import numpy"))
    printed = next(text for _, kind, text in steps() if kind == "text")
    child = copy.run(code)
    assert child.stdout == printed * 2, child
    assert child.exit_status == 0


def test_demand_on_shapes_is_a_term_that_has_a_guard(copy: PackageCopy) -> None:
    child = copy.run(
        """
        import numpy as np
        from sonnx_ort.guards.catalog import deciding_guard
        from sonnx_ort.profile.requirements.fitting import FITS

        assert deciding_guard(FITS) is not None
        print(FITS.violation([np.zeros((2, 3)), np.zeros((4, 4))]).reason)
        """
    )
    assert child.stdout == "axis 1 of A (2, 3) is 3, and axis 0 of B (4, 4) is 4\n", child


def test_its_new_files_are_of_the_projects_style(copy: PackageCopy) -> None:
    new = [file for file, kind, _ in steps() if kind == "python" and file]
    child = copy.run(
        f"import subprocess\nfiles = {[str(copy.path(file)) for file in new]}",
        """
        for command in (["check", "--ignore", "INP001"], ["format", "--check"]):
            line = [sys.executable, "-m", "ruff", *command, "--line-length", "100", *files]
            print(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
        """,
    )
    assert child.exit_status == 0, child


def test_page_of_its_rules_takes_its_place_by_itself(copy: PackageCopy) -> None:
    docs = copy.folder / "docs"
    (docs / "rules").mkdir(parents=True)
    child = copy.run(
        "from pathlib import Path\nfrom sonnx_ort.reporting.rules_pages import write_rules_pages",
        f"write_rules_pages(Path({str(docs)!r}))",
    )
    assert child.exit_status == 0, child
    assert "rules/acosh.md" in expanded(["rules/*.md"], docs)
