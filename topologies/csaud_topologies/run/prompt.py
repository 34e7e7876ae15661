"""Mininet's prompt in a running fabric, with one command more: `scenario` runs the scenario's job there."""

from __future__ import annotations

import shutil
import termios
from collections.abc import Callable
from typing import Any

from csaud_runs.errors import RunError
from mininet.cli import CLI
from rich.console import Console

from csaud_topologies.base.interrupt import ctrl_c_is_the_prompts

SetLink = Callable[[str, str, bool], None]
"""Takes all links between two nodes down (False) or up."""


class FabricCLI(CLI):  # type: ignore[misc]
    """Mininet's commands and `scenario`."""

    prompt = "csaud> "

    def __init__(
        self, net: Any, run_scenario: Callable[[], bool], set_link: SetLink, console: Console
    ) -> None:
        self.held = True
        """Every job that was asked for has ended, with every check held."""
        self._run_scenario = run_scenario
        self._set_link = set_link
        self._console = console
        super().__init__(net)

    def precmd(self, line: str) -> str:
        """Nodes' shells have terminals of their own; here they learn how large the user's is just now."""
        size = shutil.get_terminal_size()
        for node in self.mn.values():
            termios.tcsetwinsize(node.master, (size.lines, size.columns))
        return str(super().precmd(line))

    def default(self, line: str) -> Any:
        """A node's command. `csaud` wants node names as they are, where Mininet would put in addresses."""
        node, _, command = line.partition(" ")
        if command.split(" ", 1)[0] == "csaud" and node in self.mn:
            self.mn[node].sendCmd(command)
            return self.waitForNode(self.mn[node])
        return super().default(line)

    def do_link(self, line: str) -> None:
        """link A B up|down: take the links between two nodes down or up (those inside the switch process,
        too)."""
        words = line.split()
        if len(words) != 3 or words[2] not in ("up", "down"):
            self._console.print("csaud: expected link A B up|down", style="red", markup=False)
            return
        try:
            self._set_link(words[0], words[1], words[2] == "up")
        except RunError as error:
            self._console.print(f"csaud: {error}", style="red", markup=False)

    def do_scenario(self, _line: str) -> None:
        """Run the scenario's job in this fabric and report."""
        before, self.held = self.held, False
        try:
            self.held = self._run_scenario() and before
        except RunError as error:
            self._console.print(f"csaud: {error}", style="red", markup=False)


def prompt(net: Any, run_scenario: Callable[[], bool], set_link: SetLink, console: Console) -> bool:
    """Return when the user leaves the prompt: whether all checks held of the jobs that were run there."""
    console.print(
        "Mininet's prompt: pingall, h1 ping h3, link l1 s1 down, l1 tcpdump -ni l1-eth1,"
        " h1 csaud counter show.\n`scenario` runs the job, `exit` takes the fabric down."
        " From another terminal: csaud net exec --host h1 -- CMD",
        markup=False,
    )
    with ctrl_c_is_the_prompts():
        cli = FabricCLI(net, run_scenario, set_link, console)
    return bool(cli.held)
