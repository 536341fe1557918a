"""The groups of the options in the help of a command."""

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperCommand


class Group(enum.StrEnum):
    """A group, with its heading."""

    LOOK = "What to look at"
    INPUTS = "Inputs"
    CHANGES = "Changes"
    RUN = "How it runs"
    OUTPUT = "Output"
    OTHER = "Other"


_MEMBERS: Mapping[Group, Iterable[str]] = {
    Group.LOOK: (
        *("operators", "edition", "select", "ignore", "rules", "waivers", "contract"),
        *("no_forecast", "measure", "tolerance", "why", "exhaustive", "enclose_outputs", "errors"),
        *("audit.samples", "violates", "refused", "dies", "differs", "outside", "check", "margin"),
        *("axes", "checkpoints"),
    ),
    Group.INPUTS: (
        *("inputs", "data", "sizes", "input_shapes", "seed", "samples", "saved", "values"),
        *("certify.check", "enforced", "original", "folder"),
    ),
    Group.CHANGES: (
        *("broadcast", "conform", "make_explicit", "rounding", "no_measure", "name_outputs"),
        *("unroll", "both_branches", "assume", "assume_shapes", "verify", "anonymous", "tries"),
    ),
    Group.RUN: (
        *("backend", "level", "providers", "threads", "runs", "engine", "jobs", "verify_proofs"),
        *("time_limit", "memory_limit", "cache"),
    ),
    Group.OUTPUT: (
        *(
            "output",
            "output_dir",
            "report_format",
            "fail_on",
            "detail",
            "every",
            "verbose",
            "by_rule",
        ),
        *("diff", "record", "certificate", "annotate", "save", "save_values", "external_data"),
        *("strict", "force", "quiet", "author", "date"),
    ),
}
"""The parameters of each group; one that means something else in a command has that in front."""

_GROUPS = {name: group for group, names in _MEMBERS.items() for name in names}


def group_of(command: str, parameter: str) -> Group:
    """The group of a parameter of a command."""
    of_all = _GROUPS.get(parameter, Group.OTHER)
    return _GROUPS.get(f"{command}.{parameter}", of_all)


def help_by_group(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """The arguments and options of a command with their help, by the headings of groups."""
    found: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{group: [] for group in Group}}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        shown, text = record
        if parameter.param_type_name == "argument":
            # The type of a file is no help beside its name.
            found["Arguments"].append((shown.partition(" <")[0], text))
        else:
            found[group_of(str(command.name), str(parameter.name))].append(record)
    return {heading: records for heading, records in found.items() if records}


class GroupedCommand(TyperCommand):
    """A command whose help has its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a list of options for each group."""
        for heading, records in help_by_group(self, ctx).items():
            with formatter.section(heading):
                formatter.write_dl(records)
