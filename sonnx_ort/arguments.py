"""Checks the arguments of public functions, so that an error names the function that was called.

Options often pass on to other functions, whose names would mean nothing to a caller.
"""

import enum
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from sonnx_ort.errors import SonnxError, did_you_mean

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def checked_arguments(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Have a function refuse unknown options, and arguments that are not of the annotated types.

    Options that its `**parameter` takes are those of the annotated `TypedDict`. Where an annotation
    has literals, the function itself lists the choices.
    """
    name = function.__qualname__.removesuffix(".__init__")
    positional, options = _annotations(function)

    @functools.wraps(function)
    def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        for option in kwargs:
            if option not in options:
                meant = did_you_mean(option, options) or f"; its options are {', '.join(options)}"
                raise TypeError(f"{name}() has no option '{option}'{meant}")
        given = [*zip(positional, args, strict=False), *kwargs.items()]
        for parameter, value in given:
            _require(name, parameter, value, options.get(parameter, Any))
        return function(*args, **kwargs)

    return checked


def _annotations(function: Callable[..., object]) -> tuple[list[str], dict[str, Any]]:
    """The parameters that can be given by position, and the annotations of all, by name."""
    positional: list[str] = []
    options: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            (options_type,) = get_args(parameter.annotation)
            options |= options_type.__annotations__
            continue
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            positional.append(parameter.name)
        if parameter.name != "self":
            options[parameter.name] = parameter.annotation
    return positional, options


def _require(name: str, parameter: str, value: object, annotation: Any) -> None:
    """Refuse a value that is of none of the annotated types.

    Raises:
        TypeError: It is of none.
    """
    members = list(_members(annotation))
    if any(get_origin(each) is Literal or each is Any for each in members):
        return
    if not any(isinstance(value, _types_of(each)) for each in members):
        *others, last = map(_shown, members)
        expected = f"{', '.join(others)} or {last}" if others else last
        raise TypeError(
            f"{name}(): '{parameter}' is of type {type(value).__name__}; give {expected}"
        )


def _members(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) in {Union, UnionType}:
        for each in get_args(annotation):
            yield from _members(each)
    else:
        yield annotation


_ALSO: Mapping[Any, tuple[type, ...]] = {int: (Integral,), bytes: (bytearray, memoryview)}
"""What else counts as a type: whole numbers of numpy, and other objects that hold bytes."""


def _types_of(annotation: Any) -> tuple[type, ...]:
    found = get_origin(annotation) or annotation
    return (found, *_ALSO.get(found, ()))


def _shown(annotation: Any) -> str:
    found = get_origin(annotation) or annotation
    if found is NoneType:
        return "None"
    package = found.__module__.partition(".")[0]
    hidden = package in {"builtins", "collections", "sonnx_ort"}
    return found.__name__ if hidden else f"{package}.{found.__name__}"


Choice = TypeVar("Choice", bound=enum.StrEnum)


def choose(kind: type[Choice], name: str, value: str) -> Choice:
    """Convert the value of a parameter to a choice.

    Raises:
        SonnxError: There is no such choice; the message lists the choices.
    """
    try:
        return kind(value)
    except ValueError:
        known = " or ".join(f"'{choice}'" for choice in kind)
        raise SonnxError(f"{name}={value!r} is unknown; choose {known}") from None
