"""What callers may hand over: other libraries' arrays, every element type, arrays that are not contiguous."""

import array
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from csaud import _core
from csaud.collectives.elements import DTYPES, ELEMENTS, dtype_of
from csaud.collectives.reductions import REDUCED
from csaud.errors import ConfigError
from csaud.groups import operands
from csaud.groups.group import Group
from csaud.testing import assert_bit_equal

from tests.hostlib.group_ranks import everywhere, values


class Foreign:
    """An array of some library: it has memory, and says so by DLPack alone."""

    def __init__(self, memory: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.memory = memory
        self._device = device

    def __dlpack__(self, **how: Any) -> Any:
        return self.memory.__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def raw(rank: int, count: int, name: str) -> np.ndarray:
    """Any bits, as elements of a type that may only be moved."""
    element = ELEMENTS[name]
    dtype = dtype_of(element)
    if dtype is None:
        pytest.skip("the package ml_dtypes is not installed")
    random = np.random.default_rng([5, rank])
    if name == "bool":
        return random.integers(0, 2, count).astype(bool)
    return random.integers(0, 256, count * element.itemsize, dtype=np.uint8).view(dtype)


@pytest.mark.parametrize("name", DTYPES)
def test_every_element_type_is_moved_bit_by_bit(name: str) -> None:
    def work(group: Group) -> Any:
        mine = raw(group.rank, 150, name)
        for rank, part in enumerate(group.all_gather(mine)):
            assert_bit_equal(part, raw(rank, 150, name), name)
        assert_bit_equal(group.broadcast(mine.copy(), 1), raw(1, 150, name), name)

    everywhere(3, work)


@pytest.mark.parametrize("name", [name for name in DTYPES if name not in REDUCED])
def test_what_is_only_moved_is_not_reduced(name: str) -> None:
    with pytest.raises(ConfigError, match=f"op='sum' is not supported for {name}; it is for float16"):
        everywhere(1, lambda g: g.all_reduce(raw(0, 3, name)))


def test_arrays_of_other_libraries_are_not_copied() -> None:
    def work(group: Group) -> Any:
        mine = values(group.rank, 120, "float32").reshape(3, 40)
        theirs = Foreign(mine)
        assert group.all_reduce(theirs) is theirs
        packed = array.array("d", [1.0, 2.0, 3.0])
        assert group.all_reduce(packed) is packed
        some_bytes = bytearray(b"abc" if group.rank == 1 else 3)
        group.broadcast(some_bytes, 1)
        return mine, list(packed), bytes(some_bytes)

    total = values(0, 120, "float32") + values(1, 120, "float32")
    for mine, packed, some_bytes in everywhere(2, work):
        assert_bit_equal(mine, total.reshape(3, 40))
        assert packed == [2.0, 4.0, 6.0]
        assert some_bytes == b"abc"
    memory = np.zeros((4, 6), np.int16)
    for given in (memory, memory[1:], memory[:2].reshape(-1)):
        assert np.shares_memory(operands.readable(Foreign(given)).flat, memory)


def test_what_comes_by_dlpack_lives_as_long_as_it_is_looked_at() -> None:
    memory = np.arange(5)
    operand = operands.writable(Foreign(memory))
    del memory
    assert operand.flat.tolist() == [0, 1, 2, 3, 4]


def test_read_only_memory_is_sent_and_not_received_into() -> None:
    fixed = values(0, 10, "int32")
    fixed.flags.writeable = False

    def work(group: Group) -> Any:
        for given in (fixed, Foreign(fixed), memoryview(fixed.tobytes())):
            with pytest.raises(ConfigError, match="the array is read-only, and the result goes into it"):
                group.all_reduce(given)
        apart = fixed[::2] if group.rank == 0 else np.zeros(5, "int32")
        assert_bit_equal(group.broadcast(apart), fixed[::2])
        return group.reduce_scatter(Foreign(fixed))

    parts = everywhere(2, work)
    assert_bit_equal(np.concatenate(parts), 2 * fixed)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (lambda: [1.0], "expected an array .* got list"),
        (lambda: Foreign(np.zeros(2), (2, 0)), r"Foreign lies on a device \(DLPack 2, 0\)"),
        (lambda: np.zeros(2, "datetime64[s]"), "dtype datetime64.* is not supported; supported are float16"),
        (lambda: np.zeros(2, ">f4"), "is not supported.* in native byte order"),
        (lambda: Foreign(np.zeros(2, "M8[s]")), "Foreign cannot be taken by DLPack"),
    ],
)
def test_what_is_no_array_of_this_machine_is_named(given: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        everywhere(1, lambda g: g.all_reduce(given()))


def strided(rank: int) -> np.ndarray:
    return values(rank, 300, "float64").reshape(10, 30)


def test_arrays_that_are_not_contiguous_are_copied_in_and_out() -> None:
    """Every second column, transposed; what lies between is not touched."""

    def work(group: Group) -> Any:
        memory = strided(group.rank)
        view = memory[:, ::2].T
        assert group.all_reduce(view) is view
        handle = group.broadcast(memory[1::3], 1, wait=False)
        assert handle.wait(60)
        gathered = np.zeros((4, 10, 5))
        group.all_gather(memory[:, 1::6], out=gathered[::2])
        return memory, gathered

    total = strided(0) + strided(1)
    for rank, (memory, gathered) in enumerate(everywhere(2, work)):
        expected = strided(rank)
        expected[:, ::2] = total[:, ::2]
        theirs = strided(1)
        theirs[:, ::2] = total[:, ::2]
        expected[1::3] = theirs[1::3]
        assert_bit_equal(memory, expected, f"rank {rank}")
        assert_bit_equal(gathered[2][:, 1:], theirs[:, 7::6])
        assert not gathered[1::2].any()


def test_results_go_where_out_says() -> None:
    def work(group: Group) -> Any:
        mine = values(group.rank, 40, "int64")
        out = np.empty(40, np.int64)
        assert group.all_reduce(mine, out=out) is out
        assert_bit_equal(mine, values(group.rank, 40, "int64"))
        part = np.empty(20, np.int64)
        assert group.reduce_scatter(mine, out=part) is part
        handle = group.all_to_all(mine.reshape(2, 20), out=out.reshape(2, 20), wait=False)
        assert handle.wait(60)
        inside = mine.copy()
        group.reduce_scatter(inside, out=inside[20 * group.rank : 20 * group.rank + 20])
        assert_bit_equal(inside[20 * group.rank : 20 * group.rank + 20], part, "in place")
        with pytest.raises(ConfigError, match="all_gather: out has 40 x int64, expected 80 x int64"):
            group.all_gather(mine, out=out)
        with pytest.raises(ConfigError, match="all_reduce: out has 40 x float64, expected 40 x int64"):
            group.all_reduce(mine, out=np.empty(40))
        return out, part

    inputs = [values(rank, 40, "int64") for rank in range(2)]
    for rank, (out, part) in enumerate(everywhere(2, work)):
        assert_bit_equal(part, np.sum(inputs, axis=0)[20 * rank : 20 * rank + 20])
        assert_bit_equal(out, np.concatenate([one[20 * rank : 20 * rank + 20] for one in inputs]))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_a_division_has_the_bits_of_numpy(name: str) -> None:
    dtype = dtype_of(ELEMENTS[name])
    if dtype is None:
        pytest.skip("the package ml_dtypes is not installed")
    given = values(0, 1001, dtype)
    for divisor in (1, 2, 3, 7):
        divided = given.copy()
        _core.divide(name, divided.view(np.uint8), divisor)
        assert_bit_equal(divided, (given / dtype.type(divisor)).astype(dtype), f"{name} by {divisor}")


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")

    def work(group: Group) -> Any:
        whole = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4) + group.rank
        group.all_reduce(whole[:, 1])
        group.all_reduce(whole.t()[2])
        flags = torch.tensor([group.rank == 1, False])
        group.all_reduce(flags, "max")
        wants_gradient = torch.zeros(3, requires_grad=True)
        with pytest.raises(ConfigError, match="Tensor asks for gradients"):
            group.all_reduce(wants_gradient)
        with pytest.raises(ConfigError, match=r"Tensor cannot be taken by DLPack: .*meta"):
            group.all_reduce(torch.zeros(3, device="meta"))
        return whole.float().tolist(), flags.tolist()

    for rank, (whole, flags) in enumerate(everywhere(2, work)):
        expected = np.arange(12.0).reshape(3, 4)
        expected[:, [1, 2]] = 2 * expected[:, [1, 2]] + 1
        expected[:, [0, 3]] += rank
        assert whole == expected.tolist()
        assert flags == [True, False]


def test_an_array_that_is_only_sent_may_be_read_only() -> None:
    def work(group: Group) -> np.ndarray:
        array = np.full(5, group.rank)
        array.flags.writeable = group.rank != 1
        return group.broadcast(array, 1)

    assert [list(array) for array in everywhere(3, work)] == 3 * [5 * [1]]


def test_types_that_numpy_has_by_a_package_need_a_place_for_results_without_it() -> None:
    """Arrays of other libraries are moved all the same, as bits."""
    code = """
import sys
sys.modules["ml_dtypes"] = None
from csaud.collectives.elements import ELEMENTS, bits_of, dtype_of
from csaud.errors import ConfigError
from csaud.groups.operands import fresh
for element in ELEMENTS.values():
    try:
        assert fresh((2,), element, "gather").flat.size == 2 and dtype_of(element) is not None
    except ConfigError as error:
        assert dtype_of(element) is None and bits_of(element).itemsize == element.itemsize
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    missing = [name for name in DTYPES if name.startswith(("bfloat", "float8"))]
    assert [line.split()[3] for line in lines] == missing
    words = "by the package ml_dtypes alone, which is not installed; give out= for the result"
    assert lines[0] == f"gather: numpy has bfloat16 {words}"
