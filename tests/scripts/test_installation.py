import re
import sys

import pytest
from installation import EnvironmentNotMade, exit_status, explain, run

UNREACHABLE = (
    "The package registry cannot be reached. Check the network and the proxy, or name a mirror in "
    "the variable PIP_INDEX_URL, and run the command again."
)
NO_VENV = (
    "This Python cannot make virtual environments: its module venv or ensurepip is missing. "
    "Install it (Debian and Ubuntu: the package python3-venv) and run the command again."
)
NO_BUILD = (
    "The package registry has no build of a pinned package for this Python and platform; the lines "
    "above name the package."
)
OTHER_PACKAGE = (
    "A package differs from the one that requirements.lock pins; it was not installed. Check the "
    "registry or mirror that it came from."
)
FULL = "The disk is full. Make room and run the command again."
OTHERWISE = "The environment could not be made. The last lines above say why."
NOT_FOUND = "ERROR: No matching distribution found for numpy==2.4.6\n"


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("/usr/bin/python3: No module named venv\n", NO_VENV),
        ("ModuleNotFoundError: No module named 'ensurepip'\n", NO_VENV),
        ("The virtual environment was not created because ensurepip is not available.\n", NO_VENV),
        (
            "WARNING: Retrying (Retry(total=4)) after connection broken by "
            "'NewConnectionError('[Errno -3] Temporary failure in name resolution')'\n" + NOT_FOUND,
            UNREACHABLE,
        ),
        ("pip._vendor.urllib3.exceptions.ReadTimeoutError: Read timed out.\n", UNREACHABLE),
        ("SSLError(SSLCertVerificationError(1, 'certificate verify failed'))\n", UNREACHABLE),
        ("ProxyError('Cannot connect to proxy.')\n", UNREACHABLE),
        (NOT_FOUND, NO_BUILD),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE FILE.\n", OTHER_PACKAGE),
        ("ERROR: [Errno 28] No space left on device\n", FULL),
        ("Something else.\n", OTHERWISE),
        ("", OTHERWISE),
    ],
)
def test_failure_is_explained_in_a_sentence(output, sentence):
    assert explain(output) == sentence


def test_output_of_a_command_is_shown(capsys):
    run([sys.executable, "-c", "import sys; print('one'); print('two', file=sys.stderr)"])
    assert sorted(capsys.readouterr().out.splitlines()) == ["one", "two"]


def test_failed_command_is_explained_by_what_it_wrote():
    fails = "import sys; print('No space left on device'); sys.exit(1)"
    with pytest.raises(EnvironmentNotMade) as raised:
        run([sys.executable, "-c", fails])
    assert str(raised.value) == FULL


def test_program_that_cannot_be_started_is_named(tmp_path):
    program = tmp_path / "missing"
    with pytest.raises(EnvironmentNotMade, match=re.escape(f"{program} cannot be started: ")):
        run([program])


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONHOME"])
def test_variables_that_change_imports_do_not_reach_the_command(
    monkeypatch, capsys, tmp_path, name
):
    monkeypatch.setenv(name, str(tmp_path))
    run([sys.executable, "-c", f"import os; print(os.environ.get({name!r}))"])
    assert capsys.readouterr().out == "None\n"


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (EnvironmentNotMade("The disk is full."), 2, "The disk is full.\n"),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
    ],
    ids=["environment not made", "interrupted"],
)
def test_command_that_cannot_go_on_ends_with_a_sentence(capsys, error, status, sentence):
    def command():
        raise error

    assert exit_status(command) == status
    assert capsys.readouterr() == ("", sentence)


def test_command_that_can_go_on_ends_with_its_own_status():
    assert exit_status(lambda: 3) == 3
