"""Try at length what tests try a part of: `python3 scripts/campaigns.py CAMPAIGN`.

    mutants      faults in the package, each of which a test has to notice
    matrix       faults in the package, by the folders of tests that notice them
    conditions   conditions that are always true or always false, likewise
    entries      faults in what entries of the traceability name, likewise
    pairs        Div and Sub of all pairs of 16-bit floats, by each backend
    units        by how many units in the last place Log and Acos miss
    accuracy     how far functions of one operand are from exact results
    graphs       random graphs, by each backend and the oracle
    fusions      proofs about nodes that optimizers join or fold, against runs
    contracts    proofs about small graphs under contracts of any numbers, against runs
    changes      changes of `conform` at single nodes of any kind, against runs
    sums         proofs about sums of up to 100,000 terms, against runs
    models       mutated models, which have to end in a result or a `SonnxError`
    bytes        bytes of models that reach more code than those before, likewise
    commands     all commands with hostile files, likewise
    extremes     each operator of onnx with something extreme, likewise
    certificates forged certificates, none of which may be accepted and false
    memory       long use, which has to take no more and more memory

A campaign can be interrupted at any time, and goes on with its record in docs/records. It ends with
status 1 if something fails. `--help` after its name lists its arguments. Runs in this Python if
sonnx_ort is installed in it, else in the environment `.venv`, which it makes first if there is
none.
"""

import importlib
import sys

from environment import ROOT, exit_status, run_in_environment

CAMPAIGNS = {
    "mutants": "mutate:run",
    "matrix": "matrix:run",
    "conditions": "conditions:run",
    "entries": "try_entries:run",
    "pairs": "exhaustive:run",
    "units": "measure_units:run",
    "accuracy": "measure_accuracy:run",
    "graphs": "try_graphs:run",
    "fusions": "try_proofs:run_fusions",
    "contracts": "try_proofs:run_contracts",
    "changes": "try_changes:run",
    "sums": "try_proofs:run_sums",
    "models": "fuzz:run",
    "bytes": "fuzz_bytes:run",
    "commands": "fuzz:run_commands",
    "extremes": "fuzz:run_extremes",
    "certificates": "forge_certificates:run",
    "memory": "measure_memory:run",
}
"""What tries, by what the first argument may be."""


def main() -> int:
    """Run a campaign here or in the environment; give its exit status."""
    chosen, *arguments = sys.argv[1:] or [""]
    if chosen not in CAMPAIGNS:
        asked = chosen in {"-h", "--help"}
        print(__doc__, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    run_in_environment()
    # Random graphs and mutated models belong to the tests.
    sys.path.append(str(ROOT / "tests"))
    module, _, function = CAMPAIGNS[chosen].partition(":")
    status: int = getattr(importlib.import_module(module), function)(arguments)
    return status


if __name__ == "__main__":
    sys.exit(exit_status(main))
