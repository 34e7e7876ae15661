"""`torch.distributed` over CSA-UD: importing this registers the backend "csaud".

    import csaud.torch
    torch.distributed.init_process_group("csaud")

Everything else of a script that torchrun starts stays as it is; tensors are those of the CPU.
"""

try:
    import torch.distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"csaud.torch needs PyTorch, and the package ml_dtypes, which cannot be imported ({error}): "
        "pip install 'csaud[torch]'"
    ) from error

from csaud.torch.monitored import monitored_barrier
from csaud.torch.process_group import CsaudProcessGroup
from csaud.torch.registration import BACKEND, register

__all__ = ["BACKEND", "CsaudProcessGroup", "monitored_barrier"]

register()
