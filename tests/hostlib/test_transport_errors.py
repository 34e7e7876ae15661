"""What a rank whose device has failed is told."""

import pytest
from csaud.errors import DeviceError
from csaud.groups.transport import Transport


class Failed:
    """A native progress whose driver has met an error of C++."""

    def __init__(self, why: str) -> None:
        self.why = why

    def start_execution(self, _execution: object) -> None:
        raise RuntimeError(self.why)


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("std::bad_alloc", "this process has no memory left for packets and messages"),
        ("RDMA device rv0 was removed", "RDMA device rv0 was removed"),
    ],
)
def test_the_reason_is_in_words(why: str, told: str) -> None:
    transport = Transport(Failed(why))  # type: ignore[arg-type]
    for _ in range(2):  # a failed transport stays failed
        with pytest.raises(DeviceError, match=f"^the device has failed: {told}$"):
            transport.start(None)  # type: ignore[arg-type]
