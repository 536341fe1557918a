"""An error that nobody foresaw is no verdict on a model: status 2 and one sentence."""

import pytest

from sonnx_ort.cli import application


def fail() -> None:
    raise IndexError("tuple index\nout of range")


@pytest.mark.parametrize("shown", [False, True])
def test_unforeseen_error_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, shown: bool
) -> None:
    monkeypatch.setattr(application, "app", fail)
    if shown:
        monkeypatch.setenv(application.TRACEBACK, "1")
    with pytest.raises(SystemExit) as ended:
        application.main()
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert ("Traceback" in error) is shown
    assert error.splitlines()[-1] == (
        "sonnx-ort: internal error, IndexError: tuple index out of range; this is a fault of "
        "sonnx_ort: please report it, with what SONNX_ORT_TRACEBACK=1 in the environment shows"
    )
