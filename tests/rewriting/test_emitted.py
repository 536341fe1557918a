"""What `rewrite` makes of small models, word for word.

A file in `emitted` has a model and what each backend makes of it. After a change that is wanted,
`python3 scripts/record_emitted.py` writes the files anew.
"""

import pytest

from support.backends import on_each_backend
from support.emitted import FOLDER, Emitted

FILES = sorted(FOLDER.glob("*.txt"))


def test_there_are_files():
    assert FILES


@on_each_backend
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_emitted_nodes_are_those_on_record(path, backend):
    emitted = Emitted.read(path)
    assert emitted.make(backend) == emitted.made[backend]
