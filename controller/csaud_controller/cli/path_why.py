"""Why packets between two hosts take the ways that they take, and what these lose."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape

from csaud_controller.inventory import End, Fabric
from csaud_controller.paths.equal_cost import host_paths
from csaud_controller.paths.live import live_view
from csaud_controller.policy.model import Policy
from csaud_controller.policy.prefixes import switches_in
from csaud_controller.policy.weights import effective_weights


def why(fabric: Fabric, answer: dict[str, Any], src: str, dst: str) -> dict[str, Any]:
    """The rule that sprays, the weights of the first switch, and the ways that are not taken, each with what
    is wrong with its links, as JSON values. `answer`: to a `status` request."""
    policy = Policy.model_validate(answer["intent"]["policy"])
    live = live_view(fabric, answer["status"])
    first, last = fabric.attachment(src).node, fabric.attachment(dst).node
    used = host_paths(fabric, src, dst, live)
    links = dict(zip(fabric.switch_edges(), answer["status"]["links"], strict=True))
    out = []
    for path in host_paths(fabric, src, dst):
        if path not in used:
            wrong = []
            for end in path[:-1]:
                edge = fabric.edge_at[end]
                reasons = links[edge]["out"] or ([] if links[edge]["up"] else ["failed"])
                wrong += [f"{edge.a}-{edge.b}: {reason}" for reason in reasons]
            out.append({"path": [str(end) for end in path], "why": wrong or ["a shorter way is left"]})
    overrides = [
        override.model_dump(mode="json", exclude_none=True)
        for override in policy.overrides
        if last in (override.destinations(fabric) or (last,))
        and (override.src is None or first in switches_in(fabric, override.src))
    ]
    weights = effective_weights(fabric, policy.weights, first, last, live) if first != last else {}
    is_weighted = policy.spraying.uses("weighted")
    return {
        "rule": policy.spray,
        "hosts_may_ask": policy.honour_hosts,
        "exceptions": overrides,
        "weights": {str(port): weight for port, weight in weights.items()} if is_weighted else {},
        "not_taken": out,
    }


def render_why(console: Console, src: str, found: dict[str, Any]) -> None:
    """For people."""
    asked = ", unless a host asks for another" if found["hosts_may_ask"] else ""
    console.print(f"  sprayed by [bold]{found['rule']}[/bold]{asked}", soft_wrap=True)
    for exception in found["exceptions"]:
        about = ", ".join(f"{key} {value}" for key, value in exception.items() if key != "spray")
        console.print(f"  but {exception['spray']}: {escape(about)}", soft_wrap=True)
    if found["weights"]:
        ports = ", ".join(f"port {port}: {weight}" for port, weight in found["weights"].items())
        console.print(f"  weights at the switch of {src}, where packets are sprayed by weight: {ports}")
    for each in found["not_taken"]:
        console.print(
            f"  [yellow]not taken[/yellow] {' -> '.join(each['path'])}: {escape('; '.join(each['why']))}",
            soft_wrap=True,
        )


def measured_hops(
    fabric: Fabric, paths: list[list[End]], found: dict[str, Any]
) -> list[list[dict[str, Any]]]:
    """Each path, hop by hop, with what was measured of it; the last one, to the host, cannot be."""
    return [
        [
            {
                "from": str(end),
                "to": str(fabric.peers[end.node][end.port]),
                **found.get(str(end), {"sent": None, "arrived": None, "loss": None, "delay_us": None}),
            }
            for end in path
        ]
        for path in paths
    ]


def paths_of(count: int) -> str:
    """How many, in words."""
    return "1 path" if count == 1 else f"{count} paths"


def render_trace(console: Console, result: dict[str, Any]) -> None:
    """For people."""
    console.print(f"[bold]{result['src']} -> {result['dst']}[/bold]: {paths_of(len(result['paths']))}")
    for number, path in enumerate(result["paths"], 1):
        console.print(f"path {number}")
        for hop in path:
            if hop["sent"] is None:
                told = "not measured"
            else:
                told = f"{hop['loss']:.1%} lost ({hop['arrived']} of {hop['sent']} arrived)"
                if hop["delay_us"] is not None:
                    told += f", at most {hop['delay_us'] / 1000:,.1f} ms"
                told = f"[red]{told}[/red]" if hop["loss"] else told
            console.print(f"  {hop['from']} -> {hop['to']}: {told}", soft_wrap=True)
