"""The campaign that is led by coverage: what it begins with, and how it ends."""

import importlib.util
from pathlib import Path

import fuzz_bytes
import pytest

HAS_ATHERIS = importlib.util.find_spec("atheris") is not None


def test_without_atheris_it_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(fuzz_bytes.importlib.util, "find_spec", lambda _: None)
    assert fuzz_bytes.run(["--seconds", "1"]) == 2
    assert capsys.readouterr().err == "atheris is not installed. Run `pip install atheris`.\n"


@pytest.mark.parametrize(("status", "given"), [(0, 0), (77, 1), (-9, 1)])
def test_what_ends_the_fuzzer_fails_the_campaign(status, given, monkeypatch, tmp_path):
    monkeypatch.setattr(fuzz_bytes.importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(fuzz_bytes, "FOLDER", tmp_path)
    commands = []

    class Done:
        returncode = status

    monkeypatch.setattr(
        fuzz_bytes.subprocess, "run", lambda command, **_: commands.append(command) or Done
    )
    assert fuzz_bytes.run(["--seconds", "2", "--seed", "3"]) == given
    [command] = commands
    assert {"-max_total_time=2", "-seed=3", f"-artifact_prefix={tmp_path}/"} < set(command)
    begun = list(Path(command[-1]).iterdir())
    assert begun
    assert all(model.stat().st_size <= 6000 for model in begun)


@pytest.mark.skipif(not HAS_ATHERIS, reason="atheris is not installed")
def test_some_seconds_of_it_find_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(fuzz_bytes, "FOLDER", tmp_path)
    assert fuzz_bytes.run(["--seconds", "2"]) == 0
