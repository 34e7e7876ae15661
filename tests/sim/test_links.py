"""What a frame takes on its way: the formula of docs/simulation.md, to the nanosecond."""

from csaud_controller.inventory import leaf_spine

from tests.sim.worlds import DELAY, RATE, World

PIPELINE, OVERHEAD = 400, 24
SENT, ARRIVED, LOST = range(3)


def sending_time(frame: int, rate: int) -> int:
    return -(-(frame + OVERHEAD) * 8_000_000_000 // rate)


def test_an_idle_path_takes_what_the_formula_says() -> None:
    """Three switches, four links."""
    world = World(leaf_spine(2, 1, 1), pipeline_ns=PIPELINE, trace=100)
    world.add((0, 1, 1000, 2_000))
    flows = world.run()
    trace = world.simulation.trace()
    data = trace["bytes"][0]
    took = sending_time(int(data), RATE)
    assert data == 14 + 20 + 8 + 12 + 8 + 32 + 1000 + 4  # Ethernet, IPv4, UDP, BTH, DETH, CSA, payload, iCRC
    assert flows["finished_ns"][0] == 2_000 + 4 * (took + DELAY) + 3 * PIPELINE
    assert trace["time_ns"][0] == 2_000 + took


def test_a_nic_sends_one_frame_after_the_other() -> None:
    world = World(leaf_spine(1, 0, 2), rate=10_000_000_000, trace=1000, settings={"window": 64})
    world.add((0, 1, 20 * 4064, 0))
    world.run()
    trace = world.simulation.trace()
    nic = (trace["kind"] == SENT) & (trace["place"] == trace["place"][0])
    times, sizes = trace["time_ns"][nic], trace["bytes"][nic]
    first = int((sizes > 4000).argmax())
    last = int(len(sizes) - (sizes > 4000)[::-1].argmax())
    assert (sizes[first:last] > 4000).sum() == 20
    for i in range(first + 1, last):
        assert times[i] - times[i - 1] == sending_time(int(sizes[i]), 10_000_000_000)


def test_what_is_on_a_link_that_goes_down_is_lost_and_sent_again() -> None:
    world = World(leaf_spine(2, 1, 1), payloads=False, trace=100_000)
    world.add((0, 1, 300 * 4064, 0))
    simulation = world.simulation
    assert not simulation.run(20_000)
    world.fabric.set_link("l1", 1, False)
    simulation.advance(50_000)
    world.fabric.set_link("l1", 1, True)
    flows = world.run()
    lost = sum(
        port["link_down_drops"]
        for name in world.fabric.switches()
        for port in world.fabric.switch(name).port_stats().values()
    )
    assert flows["finished_ns"][0] > 50_000
    assert LOST in simulation.trace()["kind"]
    again = sum(world.total(f"rtx_{by}") for by in ("loss", "gap", "interval", "probe"))
    assert again >= world.total("tx_data") - world.total("rx_data") > 0
    assert lost > 0


def test_the_switches_counters_are_read_while_they_are_simulated() -> None:
    world = World(leaf_spine(1, 0, 2))
    world.add((0, 1, 10 * 4064, 0))
    world.run()
    assert world.simulation.hops == sum(
        p["rx_packets"] for p in world.fabric.switch("l1").port_stats().values()
    )
    assert world.fabric.now == world.simulation.now > 0
