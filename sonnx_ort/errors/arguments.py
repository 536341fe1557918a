"""Checks the arguments of public functions, so that an error names the function that was called.

Options often pass on to other functions, whose names would mean nothing to a caller.
"""

import enum
import functools
import inspect
import reprlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from sonnx_ort.errors import InvalidArgument, SonnxError, did_you_mean

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def checked_arguments(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Have a function refuse unknown options, and arguments that are not of the annotated types.

    Options that its `**parameter` takes are those of the annotated `TypedDict`. Where an annotation
    has literals, the function itself lists the choices.
    """
    name = function.__qualname__.removesuffix(".__init__")
    positional, options = _annotations(function)
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        for option in kwargs:
            if option not in options:
                meant = did_you_mean(option, options) or f"; its options are {', '.join(options)}"
                raise InvalidArgument(f"{name}() has no option '{option}'{meant}")
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidArgument(f"{name}(): {error}") from None
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
    """Refuse a value that is of none of the annotated types, or has parts that are of none.

    Raises:
        InvalidArgument: It is of none.
    """
    members = list(_members(annotation))
    if any(get_origin(each) is Literal or each is Any for each in members):
        return
    fitting = [each for each in members if isinstance(value, _types_of(each))]
    if not fitting:
        raise InvalidArgument(
            f"{name}(): '{parameter}' is of type {type(value).__name__}; give {_listed(members)}"
        )
    misfits = [_misfit(value, each) for each in fitting]
    if all(misfits):
        raise InvalidArgument(f"{name}(): '{parameter}' has {misfits[0]}")


def require_fields(value: object, *names: str) -> None:
    """Refuse an object of a dataclass of which a field has another type than annotated.

    Raises:
        InvalidArgument: There is such a field.
    """
    kind = type(value)
    hints = get_type_hints(kind)
    for name in names:
        _require(kind.__name__, name, getattr(value, name), hints[name])


def _misfit(value: object, annotation: Any) -> str:
    """What a value of the annotated type has that is of another type, as a clause; else nothing.

    What can be read only once is not looked into.
    """
    parts = get_args(annotation)
    if not parts or not isinstance(value, Collection):
        return ""
    if isinstance(value, tuple) and get_origin(annotation) is tuple and parts[-1] is not Ellipsis:
        if len(value) != len(parts):
            return f"{len(value)} elements; give {len(parts)}"
        found: Iterator[str] = (
            _wrong("an element", *each) for each in zip(value, parts, strict=True)
        )
    elif isinstance(value, Mapping) and len(parts) > 1:
        found = chain.from_iterable(
            (
                _wrong(f"the key {reprlib.repr(key)}", key, parts[0]),
                _wrong(f"for '{key}' a value", each, parts[1]),
            )
            for key, each in value.items()
        )
    else:
        found = (_wrong("an element", each, parts[0]) for each in value)
    return next(filter(None, found), "")


def _wrong(place: str, value: object, annotation: Any) -> str:
    """Why a part of an argument is of another type than annotated; nothing if it is not."""
    members = list(_members(annotation))
    if any(map(_is_open, members)):
        return ""
    fitting = [each for each in members if isinstance(value, _types_of(each))]
    if not fitting:
        return f"{place} of type {type(value).__name__}; give {_listed(members)}"
    return next(filter(None, (_misfit(value, each) for each in fitting)), "")


def _is_open(annotation: Any) -> bool:
    """Whether any object may be of a type: numpy makes arrays of whatever it is given."""
    found = get_origin(annotation) or annotation
    own = getattr(found, "__module__", "").partition(".")[0]
    return found in {Any, Literal} or own == "numpy" or getattr(found, "_is_protocol", False)


def _listed(members: Sequence[Any]) -> str:
    *others, last = map(_name_of_type, members)
    return f"{', '.join(others)} or {last}" if others else last


def _members(annotation: Any) -> Iterator[Any]:
    """The types of a union, or the only one."""
    if get_origin(annotation) in {Union, UnionType}:
        for each in get_args(annotation):
            yield from _members(each)
    else:
        yield annotation


_ALSO: Mapping[Any, tuple[type, ...]] = {
    int: (Integral,),
    float: (Real,),
    bytes: (bytearray, memoryview),
}
"""What else counts as a type: numbers of numpy, and other objects that hold bytes."""


def _types_of(annotation: Any) -> tuple[type, ...]:
    found = get_origin(annotation) or annotation
    return (found, *_ALSO.get(found, ()))


def _name_of_type(annotation: Any) -> str:
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
