"""Links that are well only while nothing uses them stay out for longer each time."""

from csaud_controller.links.holds import LONGEST, WELL, Holds

S = 1_000_000_000


def test_each_time_that_it_is_found_bad_again_a_link_stays_out_twice_as_long() -> None:
    holds, now, pause = Holds[str](), 0, 10 * S
    for _ in range(12):
        assert holds.take("l1-s1", now, 10 * S) == pause
        assert holds.waits("l1-s1", now + pause - 1)
        assert not holds.waits("l1-s1", now + pause)
        now += pause
        holds.use("l1-s1", now)
        now += WELL * pause - 1
        pause = min(2 * pause, LONGEST)
    assert pause == LONGEST
    assert not holds.waits("l1-s2", now), "another one"


def test_one_that_was_well_for_long_enough_begins_anew() -> None:
    holds = Holds[str]()
    holds.take("l1-s1", 0, 10 * S)
    holds.use("l1-s1", 10 * S)
    assert holds.take("l1-s1", 10 * S + WELL * 10 * S, 10 * S) == 10 * S


def test_a_pause_is_no_shorter_than_what_is_between_two_looks() -> None:
    holds = Holds[str]()
    holds.take("l1-s1", 0, S)
    assert holds.take("l1-s1", S, 60 * S) == 60 * S
    holds.forget()
    assert not holds.waits("l1-s1", S)
