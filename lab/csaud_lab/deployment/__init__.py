"""Makes hosts and switches what the files say: Ansible on hosts, the controller on switches."""

from csaud_lab.deployment.run import deploy

__all__ = ["deploy"]
