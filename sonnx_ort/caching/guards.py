"""What was found in an optimized model: that the guards of the enforced one are in it.

A session has ONNX Runtime write the model that it runs, in each process. What is kept is that this
very model was compared with this very enforced one before, and by which names guards go in it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sonnx_ort.caching.folder import Folder
from sonnx_ort.caching.keys import IN_MEMORY, environment
from sonnx_ort.caching.results import CacheFolder, kept
from sonnx_ort.caching.values import NotKept


@dataclass(frozen=True, slots=True)
class Compared:
    """Two models that were compared, and how.

    Attributes:
        enforced: The bytes of the model that a session was given.
        optimized: Those of the model that it runs.
        location: The location of weights in memory, which each process chooses anew; empty if
            there are none.
        demanded: Whether all guards have to be there, and whether no other numbers may be formed.
    """

    enforced: bytes
    optimized: bytes
    location: str
    demanded: tuple[bool, bool]

    def key(self) -> str:
        """The name under which is kept what was found."""
        digest = hashlib.sha256(json.dumps([environment(), self.demanded]).encode("ascii"))
        for model in (self.enforced, self.optimized):
            moved = model
            if self.location:
                moved = model.replace(self.location.encode(), IN_MEMORY.encode())
            digest.update(hashlib.sha256(moved).digest())
        return f"guards-{digest.hexdigest()}"


def kept_guards(
    compared: Compared,
    cache: CacheFolder,
    look: Callable[[], Mapping[str, str]],
    follows: Callable[[], bool],
) -> Mapping[str, str]:
    """The original names of renamed guards, by the new ones, from the folder if they are there.

    Args:
        compared: The models.
        cache: The folder.
        look: Compares the models, and raises an error if a guard is missing.
        follows: Whether what `look` found follows from the models alone; only then it is kept.

    Raises:
        SonnxError: As for `look`, or the folder cannot be used.
    """

    def content_of(guards: Mapping[str, str]) -> bytes:
        if not follows():
            raise NotKept("another session had to tell what may be missing")
        return json.dumps(dict(guards)).encode("ascii")

    folder = Folder(cache)
    if not folder.writable and folder.find(compared.key()) is None:
        # A session does not need that what it found is kept.
        return look()
    return kept(folder, compared.key, look, content_of, _guards_in)


def _guards_in(content: bytes) -> Mapping[str, str]:
    found = json.loads(content)
    if not all(isinstance(name, str) for name in (*found, *found.values())):
        raise TypeError("there are no names of guards")
    return MappingProxyType(found)
