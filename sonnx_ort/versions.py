"""The versions of this package and of others."""

import functools

VERSION = "0.1.0"
"""The version of this package, in the sources and in the files of a release."""


@functools.cache
def version_of(package: str) -> str:
    """The version of an installed package; of this one, that of the code that runs.

    A clone runs without being installed, and may hide an installation of another version.
    """
    if package == "sonnx_ort":
        return VERSION
    # Imported late: it takes as long as all that `import sonnx_ort` needs.
    from importlib.metadata import version  # noqa: PLC0415

    return version(package)
