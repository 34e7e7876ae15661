"""Tensors to oneself that do not fit, and options that are none."""

from typing import Any

import pytest

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed here (make torch installs it into build/venv)"
)
pytestmark = pytest.mark.torch


def test_a_send_and_a_receive_of_other_sizes_both_fail_and_the_next_ones_are_matched() -> None:
    from csaud.errors import ConfigError
    from csaud.torch.mailbox import Mailbox

    mailbox = Mailbox()
    pair = mailbox.send(torch.ones(3)), mailbox.receive(torch.empty(4))
    for handle in pair:
        assert not handle.ended_well
        with pytest.raises(ConfigError, match="3 elements sent to itself, 4 received"):
            handle.wait(0.0)
    into = torch.empty(2, 3)
    receiving, sending = mailbox.receive(into), mailbox.send(torch.ones(6))
    assert receiving.wait(0.0) and sending.wait(0.0) and torch.equal(into, torch.ones(2, 3))


def test_options_of_another_backend_are_named() -> None:
    from csaud.torch import registration

    options: Any = 5
    with pytest.raises(ValueError, match="pg_options is a int: expected a dict"):
        registration._create(None, options)
