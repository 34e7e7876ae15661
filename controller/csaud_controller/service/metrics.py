"""Metrics for Prometheus; docs/service.md lists the names. Counters are those of the switches: they begin at
0 when a switch is loaded."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from csaud_controller.service.sampling import Sample

Family = CounterMetricFamily | GaugeMetricFamily
_BY_KIND = {
    "egress_kind": ("csaud_port_packets", "Packets that left a port, by kind"),
    "trimmed": ("csaud_port_trimmed_packets", "Packets that were cut for want of room at a port"),
    "bounced": ("csaud_port_bounced_packets", "Packets that were told of to their sender"),
    "congestion_dropped": ("csaud_port_dropped_packets", "Packets that were dropped for want of room"),
    "injected": ("csaud_port_injected_packets", "Packets that injected faults took"),
}


class _Fabric(Collector):
    """What one sample says."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    def collect(self) -> Iterator[Family]:
        yield from self._controller()
        yield from self._ports()

    def _controller(self) -> Iterator[Family]:
        answer = self._sample.status
        up = GaugeMetricFamily("csaud_controller_up", "Whether the controller answers")
        up.add_metric([], bool(answer))
        yield up
        if not answer:
            return
        leads = "status" in answer
        yield GaugeMetricFamily(
            "csaud_controller_primary", "Whether the fabric is the controller's, or it stands by", value=leads
        )
        if not leads:
            return
        status = answer["status"]
        for name, words, value in (
            ("csaud_controller_revision", "How often what is asked for has changed", answer["revision"]),
            ("csaud_controller_generation", "How often the tables were computed", status["generation"]),
            ("csaud_controller_kept", "Whether what is asked for is on disk", not status["not_kept"]),
        ):
            yield GaugeMetricFamily(name, words, value=value)
        connected = GaugeMetricFamily(
            "csaud_switch_connected", "Whether the controller has a session with a switch", labels=["switch"]
        )
        alive = GaugeMetricFamily("csaud_switch_alive", "Whether a switch forwards", labels=["switch"])
        held = GaugeMetricFamily("csaud_switch_entries", "Entries that a switch holds", labels=["switch"])
        refused = GaugeMetricFamily(
            "csaud_switch_refused_updates", "Updates that a switch refuses", labels=["switch"]
        )
        for name, each in status["switches"].items():
            connected.add_metric([name], each["connected"])
            alive.add_metric([name], each["alive"])
            held.add_metric([name], each["held"])
            refused.add_metric([name], each["refused_total"])
        yield from (connected, alive, held, refused)
        link = GaugeMetricFamily("csaud_link_up", "Whether a link carries packets", labels=["a", "b"])
        used = GaugeMetricFamily(
            "csaud_link_used", "Whether a link is used: up, and not left out", labels=["a", "b"]
        )
        for each in status["links"]:
            link.add_metric([each["a"], each["b"]], each["up"])
            used.add_metric([each["a"], each["b"]], each["up"] and not each["out"])
        host = GaugeMetricFamily(
            "csaud_host_link_up", "Whether a host that was heard is heard", labels=["host", "at"]
        )
        answers = CounterMetricFamily(
            "csaud_host_answers",
            "Requests that a host answered; its switch counts the answers as answer",
            labels=["host", "at"],
        )
        for each in status.get("hosts", ()):
            if each["up"] is not None:
                host.add_metric([each["host"], each["at"]], each["up"])
            answers.add_metric([each["host"], each["at"]], each.get("answered", 0))
        yield from (link, used, host, answers)
        alarms = CounterMetricFamily(
            "csaud_alarms", "Alarms of queues that were nearly full", labels=["port"]
        )
        for port, count in status["alarms"]["by_port"].items():
            alarms.add_metric([port], count)
        yield alarms

    def _ports(self) -> Iterator[Family]:
        fabric = self._sample.fabric
        ports = [
            (name, port, str(peer))
            for name in self._sample.packets
            for port, peer in fabric.peers[name].items()
        ]
        for counter, (metric, words) in _BY_KIND.items():
            family = CounterMetricFamily(metric, words, labels=["switch", "port", "peer", "kind"])
            for name, port, peer in ports:
                for kind, count in self._sample.packets[name][counter][port].items():
                    family.add_metric([name, str(port), peer, kind], count)
            yield family
        marked = CounterMetricFamily(
            "csaud_port_ecn_marked_packets",
            "Packets that were marked (ECN)",
            labels=["switch", "port", "peer"],
        )
        octets = CounterMetricFamily(
            "csaud_port_bytes", "Bytes of frames that left a port", labels=["switch", "port", "peer"]
        )
        for name, port, peer in ports:
            marked.add_metric([name, str(port), peer], sum(self._sample.packets[name]["marked"][port]))
            if name in self._sample.octets:
                sent = self._sample.octets[name]["egress_kind"][port]
                octets.add_metric([name, str(port), peer], sum(sent.values()))
        yield from (marked, octets)


def exposition(sample: Sample) -> bytes:
    """The text that Prometheus reads."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Fabric(sample))
    return generate_latest(registry)
