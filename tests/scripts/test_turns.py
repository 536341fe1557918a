"""What is compared is timed in turns."""

from itertools import pairwise

from benchmarks.turns import (
    FEWEST_TURNS,
    Spread,
    difference_of,
    ratio_of,
    seconds_of,
    take_turns,
)

TURNS = [{"a": 1.0, "b": 3.0}, {"a": 2.0, "b": 3.0}, {"a": 4.0, "b": 6.0}, {"a": 1.5}]


def test_seconds_are_those_of_the_turns_that_a_subject_took():
    assert seconds_of(TURNS, "b") == Spread(3.0, 3.0)


def test_ratio_is_that_of_the_shortest_times_and_the_median_turn_by_turn():
    assert ratio_of(TURNS, "b", "a") == Spread(3.0, 1.5)


def test_difference_is_that_of_the_shortest_times_and_the_median_turn_by_turn():
    assert difference_of(TURNS, "b", "a") == Spread(2.0, 2.0)


def test_spread_in_another_unit():
    assert Spread(1.0, 2.5).times(2) == Spread(2.0, 5.0)


def test_order_changes_from_turn_to_turn():
    order = []
    runs = {name: lambda name=name: order.append(name) for name in ("a", "b", "c")}
    take_turns(runs, 0.0, "a")
    followers_of_a = {after for before, after in pairwise(order) if before == "a"} - {"a"}
    assert followers_of_a == {"b", "c"}


def test_every_subject_takes_the_fewest_turns_however_slow_it_is():
    calls = {"reference": 0, "slow": 0}

    def run(name):
        calls[name] += 1

    runs = {name: lambda name=name: run(name) for name in calls}
    turns = take_turns(runs, 0.0, "reference")
    assert [sorted(turn) for turn in turns] == [["reference", "slow"]] * FEWEST_TURNS
