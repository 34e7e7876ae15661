"""All-reduces on the lab's own hosts, with losses on purpose: every copy accounted for, and reported."""

from csaud_lab.acceptance.model import Acceptance
from csaud_lab.acceptance.pages import read, write
from csaud_lab.acceptance.run import accept

__all__ = ["Acceptance", "accept", "read", "write"]
