"""Code of functions, wherever in a file it stands."""

import marshal
from pathlib import Path
from types import CodeType


def code_of(source: str, function: str, line: int, path: Path) -> CodeType | None:
    """The code of a function in a program.

    Args:
        source: The program.
        function: The function's qualified name.
        line: The line that it begins at.
        path: The file that the code is to name.
    """
    found = [compile(source, str(path), "exec", dont_inherit=True)]
    while found:
        code = found.pop()
        if code.co_qualname == function and code.co_firstlineno == line:
            return code
        found += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    return None


def differ(one: CodeType, other: CodeType) -> bool:
    """Whether two codes do different things, wherever in a file they stand.

    Args:
        one: A code.
        other: Another one.
    """
    return marshal.dumps(_without_places(one)) != marshal.dumps(_without_places(other))


def _without_places(code: CodeType) -> CodeType:
    inner = (_without_places(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=tuple(inner), co_filename="", co_firstlineno=1, co_linetable=b"")
