"""Settings from a file: `sonnx-ort.toml`, or the table `[tool.sonnx-ort]` of a `pyproject.toml`.

The nearest file upwards from a model is read. What the command line gives wins. `--version` names
the file; so nothing here imports the analysis before it is needed.
"""

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sonnx_ort.cli.groups import GroupedCommand
from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.errors.arguments import choose
from sonnx_ort.loading.text_files import toml_of

if TYPE_CHECKING:
    from sonnx_ort.analysis.report import ContractFile

OWN_FILE = "sonnx-ort.toml"
PROJECT_FILE = "pyproject.toml"
TABLE = "sonnx-ort"


def nearest(model: Path) -> Path | None:
    """The nearest file with settings, upwards from a model or a folder; None if there is none."""
    start = model.resolve()
    current = Path.cwd()
    for folder in (start, *start.parents) if is_folder(start) else start.parents:
        near = folder.relative_to(current) if folder.is_relative_to(current) else folder
        own, project = near / OWN_FILE, near / PROJECT_FILE
        if own.is_file():
            return own
        if project.is_file():
            tools = read_document(project).get("tool")
            if isinstance(tools, dict) and TABLE in tools:
                return project
    return None


def is_folder(path: str | Path) -> bool:
    """Whether a path is a folder; False if it cannot even be looked at, as a name too long."""
    # Path.is_dir raises an error then.
    return os.path.isdir(path)  # noqa: PTH112


def read_document(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        SonnxError: It cannot be read, or is no TOML.
    """
    try:
        return toml_of(path)
    except SonnxError as error:
        raise SonnxError(f"settings in '{path}' cannot be read: {error}") from error


PER_FILE = "per-file"
"""The name of the tables that are for some files only."""

_FILES = "files"
"""The key of such a table that has the patterns of its files."""


def _readers() -> Mapping[str, Callable[[str, object, Path], object]]:
    """The settings, and what reads each."""
    # The choices need the analysis, and `--version` does not.
    from sonnx_ort.backends import Backend
    from sonnx_ort.profile.options import Broadcasting, Edition
    from sonnx_ort.reporting.checked_models import FailOn

    def choice(kind: Any, name: str, value: object, folder: Path) -> object:
        del folder
        return choose(kind, name, str(value))

    return {
        "edition": partial(choice, Edition),
        "broadcast": partial(choice, Broadcasting),
        "operators": _names,
        "backend": partial(choice, Backend),
        "select": _names,
        "ignore": _names,
        "waivers": _path,
        "contract": _path,
        "fail-on": partial(choice, FailOn),
    }


_FOR_ALL_FILES = frozenset({"waivers", "fail-on"})


def _names(name: str, value: object, folder: Path) -> str:
    """Names as a text with commas in between, from such a text or from a list."""
    del folder
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise SonnxError(
            f"{name}={value!r} is not a list of names; write a string or a list of strings"
        )
    return ",".join(names)


def _path(name: str, value: object, folder: Path) -> Path:
    if not isinstance(value, str):
        raise SonnxError(f"{name}={value!r} is not a path; write the path of a file as a string")
    return folder / value


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a file.

    Attributes:
        path: The file; None if there is none.
        values: Those for all models.
        per_file: Those for some models, with the patterns of their files; later ones win.
    """

    path: Path | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    per_file: tuple[tuple[tuple[str, ...], Mapping[str, object]], ...] = ()

    def of(self, model: str | None) -> dict[str, object]:
        """The settings for a model, or those for all if it is None."""
        values = dict(self.values)
        if model is None:
            return values
        for patterns, own in self.per_file:
            if any(_matches(self._relative(model), pattern) for pattern in patterns):
                values |= own
        return values

    @property
    def name(self) -> str:
        """The file as reports name it; empty if there is none."""
        return str(self.path or "")

    @property
    def files(self) -> list[Path]:
        """The file, and those that it names."""
        tables = (self.values, *(own for _, own in self.per_file))
        named = (value for table in tables for value in table.values())
        return [each for each in (self.path, *named) if isinstance(each, Path)]

    def _relative(self, model: str) -> str:
        """The path of a model from the folder of the settings, if it is inside."""
        path, folder = Path(model).resolve(), Path(self.path or "").parent.resolve()
        return (path.relative_to(folder) if path.is_relative_to(folder) else path).as_posix()


def contract_file(file: Path | None) -> "ContractFile | None":
    """The file of a contract with its SHA-256, as reports name it; None if no file is given."""
    if not file:
        return None
    from sonnx_ort.analysis.report import ContractFile
    from sonnx_ort.evidence.record import digest

    return ContractFile(str(file), digest(file))


_FOLDERS = "**/"
"""What stands in a pattern for any folders, or none."""


def _matches(path: str, pattern: str) -> bool:
    """Whether a path fits a pattern of `fnmatch`, in which `**/` stands for no folder as well."""
    # NUL occurs in no path, and is no special character.
    expression = fnmatch.translate(pattern.replace(_FOLDERS, "\0")).replace("\0", "(?:.*/)?")
    return re.match(expression, path) is not None


@dataclass(frozen=True, slots=True)
class Given:
    """The settings of a command, and the options that its command line leaves to them.

    Attributes:
        settings: The settings.
        open: The names of the options that the command line does not give.
    """

    settings: Settings
    open: frozenset[str]

    def of(self, model: str | None) -> dict[str, Any]:
        """The values of options that settings give for a model, by the names of parameters.

        None stands for all models.
        """
        values = {_parameter(name): value for name, value in self.settings.of(model).items()}
        return {name: value for name, value in values.items() if name in self.open}


def _parameter(setting: str) -> str:
    return setting.replace("-", "_")


class CommandWithSettings(GroupedCommand):
    """A command whose options, if they are not given, are those of a file with settings.

    The parameter that names the model is `model`, or `models` for several. A command that has a
    context finds what is `Given` in its `obj`.
    """

    def invoke(self, ctx: Any) -> Any:
        """Give the parameters their values, and run the command."""
        from sonnx_ort.cli.output import errors_as_sentences

        models = [str(name) for name in ctx.params.get("models") or [ctx.params["model"]]]
        with errors_as_sentences():
            settings = find_settings(models)
        unset = (name for name in ctx.params if ctx.get_parameter_source(name).name == "DEFAULT")
        given = ctx.obj = Given(settings, frozenset(unset))
        # Of several models each has its own, which must not become those of the others.
        alone = models[0] if len(models) == 1 and not is_folder(models[0]) else None
        from_file = given.of(alone)
        ctx.params.update({name: from_file[name] for name in from_file if name in ctx.params})
        if ctx.params["show_settings"]:
            for line in _described(ctx.params, given, from_file):
                typer.echo(line)
            return None
        return super().invoke(ctx)


def _described(
    values: Mapping[str, Any], given: Given, from_file: Mapping[str, Any]
) -> Iterator[str]:
    """Each option that settings may give, with its value and its origin."""
    shown = {_parameter(name): name for name in _readers() if _parameter(name) in values}
    width = max(map(len, shown.values()))
    for parameter, name in shown.items():
        origin = "default" if parameter in given.open else "command line"
        if parameter in from_file:
            origin = f"'{given.settings.path}'"
        value = values[parameter]
        yield f"{name:{width}}  {'-' if value is None else value}  ({origin})"


def find_settings(models: Sequence[str]) -> Settings:
    """Read the nearest file with settings, upwards from the models.

    Args:
        models: Files or folders; "-" counts as a file in the current folder.

    Raises:
        SonnxError: The file cannot be used, or the models have several ones.
    """
    found = dict.fromkeys(nearest(Path("." if name == "-" else name)) for name in models)
    files = [path for path in found if path is not None]
    if len(found) > 1 and files:
        raise SonnxError(
            "the models do not all have the same settings file (found: "
            f"{' and '.join(map(str, files))}); check the models of each file separately"
        )
    return read_settings(files[0]) if files else Settings()


def read_settings(path: Path) -> Settings:
    """Read settings from a file.

    Raises:
        SonnxError: It is no TOML, or has an unknown setting or value.
    """
    document = read_document(path)
    table = document["tool"][TABLE] if path.name == PROJECT_FILE else document
    try:
        return _settings(path, table)
    except SonnxError as error:
        raise SonnxError(f"settings in '{path}': {error}") from None


def _settings(path: Path, table: object) -> Settings:
    if not isinstance(table, dict):
        raise SonnxError(f"'{TABLE}' is not a table")
    per_file = table.get(PER_FILE, [])
    if not isinstance(per_file, list) or not all(isinstance(own, dict) for own in per_file):
        raise SonnxError(f"'{PER_FILE}' is not a list of tables; start each with [[{PER_FILE}]]")
    values = {name: value for name, value in table.items() if name != PER_FILE}
    return Settings(
        path, _values(values, path.parent), tuple(_of_files(own, path.parent) for own in per_file)
    )


def _of_files(
    table: Mapping[str, object], folder: Path
) -> tuple[tuple[str, ...], Mapping[str, object]]:
    patterns = table.get(_FILES)
    if not patterns:
        raise SonnxError(
            f"a table '{PER_FILE}' has no '{_FILES}'; add patterns such as 'old/*.onnx'"
        )
    own = {name: value for name, value in table.items() if name != _FILES}
    for name in own.keys() & _FOR_ALL_FILES:
        raise SonnxError(f"'{name}' applies to all files; write it above '{PER_FILE}'")
    return tuple(_names(_FILES, patterns, folder).split(",")), _values(own, folder)


def _values(table: Mapping[str, object], folder: Path) -> dict[str, object]:
    readers = _readers()
    for name in table:
        if name not in readers:
            similar = did_you_mean(name, readers)
            raise SonnxError(
                f"'{name}' is not a setting{similar}; choose from {', '.join(readers)}"
            )
    return {name: readers[name](name, value, folder) for name, value in table.items()}
