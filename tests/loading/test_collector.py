"""The collector is paused for the block alone."""

import gc

import pytest

from sonnx_ort.loading.pauses import collector_paused


def test_collector_is_paused_and_goes_on() -> None:
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collector_goes_on_after_an_error() -> None:
    with pytest.raises(ValueError, match="wrong"), collector_paused():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_collector_that_the_caller_switched_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
