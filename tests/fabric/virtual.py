"""A whole fabric under virtual time: the controller's desired state, written straight into the switches."""

from pathlib import Path

from csaud_controller.desired.states import desired_states
from csaud_controller.inventory import Fabric as Inventory
from csaud_controller.inventory import leaf_spine
from csaud_controller.policy.faults import FaultRule, Faults
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Limits, Policy
from csaud_controller.program.entities import Call, Entry, TableState, UseGroup
from csaud_sim.job import Attachment, Job
from csaud_softswitch._core import Fabric, Switch

ARTIFACT = Path(__file__).resolve().parents[2] / "p4src" / "artifacts" / "csaud.json"
CONTROL = "CsaudIngress."
RATE = 10_000_000_000  # bit/s of every link
WINDOW = 32  # packets
DATA, CTRL, LOSS = 1, 2, 3


def octets(value: int, bits: int) -> bytes:
    return value.to_bytes((bits + 7) // 8, "big")


class VirtualSwitch:
    """Writes a TableState into one embedded switch."""

    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self.tables = {table["name"]: table for table in switch.tables()}
        self.widths = {
            action["name"]: dict(action["params"])
            for table in self.tables.values()
            for action in table["actions"]
        }

    def write(self, state: TableState) -> None:
        for member in state.members.values():
            self.switch.member_insert(CONTROL + member.selector, member.id, self.action(member.action))
        for group in state.groups.values():
            members = [(m.member, m.weight, m.watch_port) for m in group.members]
            self.switch.group_insert(CONTROL + group.selector, group.id, members)
        for entry in state.entries.values():
            action = (
                ("group", entry.action.group)
                if isinstance(entry.action, UseGroup)
                else self.action(entry.action)
            )
            self.switch.table_insert(CONTROL + entry.table, self.match(entry), entry.priority, action)

    def action(self, call: Call) -> tuple:
        given = dict(call.args)
        widths = self.widths[CONTROL + call.action]
        return ("action", CONTROL + call.action, [octets(given[name], bits) for name, bits in widths.items()])

    def match(self, entry: Entry) -> list:
        fields = dict(entry.match)
        found: list = []
        for key in self.tables[CONTROL + entry.table]["keys"]:
            value = fields.get(key["name"].rsplit(".")[-1])
            if value is None:
                found.append(None)
            elif key["match_type"] == "exact":
                found.append(("exact", octets(value, key["width"])))
            elif key["match_type"] == "lpm":
                found.append(("lpm", octets(value[0], key["width"]), value[1]))
            else:
                found.append(("ternary", *(octets(v, key["width"]) for v in value)))
        return found


class VirtualRun:
    """Eight ranks, two a leaf, on 4 leaves x 4 spines; consecutive ranks on different leaves."""

    def __init__(self, intent: Intent, seed: int, **settings: object) -> None:
        self.inventory: Inventory = leaf_spine(4, 4)
        self.fabric = Fabric(seed=seed)
        link = {"rate_bps": RATE, "buffer_packets": 1024}
        for name, switch in self.inventory.switches.items():
            self.fabric.add_switch(name, switch.device_id)
        places = {}
        for edge in self.inventory.edges:
            if edge.b in self.inventory.hosts:
                self.fabric.add_memory_port(edge.a, edge.a_port, **link)
                places[edge.b] = Attachment(str(self.inventory.hosts[edge.b].ip), edge.a, edge.a_port)
            else:
                self.fabric.add_link(edge.a, edge.a_port, edge.b, edge.b_port, delay_ns=1000, **link)
        for name, state in desired_states(self.inventory, intent).items():
            self.fabric.switch(name).load(ARTIFACT.read_text())
            VirtualSwitch(self.fabric.switch(name)).write(state)
        spread = ["h1", "h3", "h5", "h7", "h2", "h4", "h6", "h8"]
        settings = {"window": WINDOW, "rate_bps": RATE, **settings}
        self.job = Job(self.fabric, [places[host] for host in spread], nic_rate_bps=RATE, **settings)

    def count(self, counter: str, kind: int) -> int:
        """Packets of one kind over all ports of all switches, by a counter of ports and kinds."""
        total = 0
        for name in self.fabric.switches():
            total += sum(n for n, _ in self.fabric.switch(name).counter_read_all(CONTROL + counter)[kind::4])
        return total

    def hidden_drops(self) -> int:
        ports = [p for name in self.fabric.switches() for p in self.fabric.switch(name).port_stats().values()]
        return sum(port["queue_full"] for port in ports)


def intent(spray: str, loss: float, signal: str, seed: int) -> Intent:
    """Loss on every leaf's uplinks, told of by a TRIM or silent."""
    policy = Policy(spray=spray, loss_signal=signal, seed=seed, limits=Limits(trim_at=256, drop_at=960))
    rules = (
        (FaultRule(where="uplinks", probability=loss, signalled=signal == "trim", seed=seed),) if loss else ()
    )
    return Intent(policy=policy, faults=Faults(rules=rules))
