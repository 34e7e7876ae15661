"""Tensors as arrays in the same memory."""

import pytest

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed here (make torch installs it into build/venv)"
)
pytestmark = pytest.mark.torch


@pytest.mark.parametrize(
    "name", ["float32", "bfloat16", "bool", "int64", "uint16", "float8_e4m3fn", "float8_e5m2"]
)
def test_an_array_is_the_tensors_memory(name: str) -> None:
    from csaud.torch.views import array_of

    dtype = getattr(torch, name)
    tensor = torch.zeros(4, 3, dtype=dtype, requires_grad=name == "float32")
    array = array_of(tensor)
    array[:] = array_of(torch.ones(12).to(dtype))
    assert array.ctypes.data == tensor.data_ptr()
    assert torch.equal(tensor.detach().float(), torch.ones(4, 3))


def test_conjugates_go_and_come_as_their_values() -> None:
    from csaud.torch.calls import inward, outward

    tensor = torch.tensor([1 + 2j, 3 + 4j]).conj()
    assert inward(tensor).tolist() == [1 - 2j, 3 - 4j]
    room, finish = outward(tensor)
    room[:] = [5 + 6j, 7 + 8j]
    finish()
    assert tensor.is_conj() and tensor.tolist() == [5 + 6j, 7 + 8j]


def test_storage_is_freed_and_comes_back_as_fsdp_does_it() -> None:
    from csaud.torch.views import array_of

    tensor = torch.zeros(8)
    array_of(tensor)
    tensor.untyped_storage().resize_(0)
    tensor.untyped_storage().resize_(32)
    assert tensor.untyped_storage().size() == 32
