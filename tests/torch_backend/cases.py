"""What the ranks of a test do; each returns something that JSON can carry."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
WHOLE = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
_gloo: list[Any] = []


def gloo() -> Any:
    """A group of all ranks over gloo, to compare with."""
    if not _gloo:
        _gloo.append(dist.new_group(backend="gloo"))
    return _gloo[0]


def forget_gloo() -> None:
    """That group has ended with the job."""
    _gloo.clear()


def values(dtype: torch.dtype, *shape: int, seed: int = 0) -> torch.Tensor:
    """This rank's, others than the other ranks'."""
    generator = torch.Generator(torch.get_default_device()).manual_seed(1000 * seed + dist.get_rank())
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(-3, 4, shape, generator=generator).to(dtype)


def same(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    assert ours.dtype == theirs.dtype
    assert torch.equal(ours, theirs), (ours, theirs)


def all_reduce_beside_gloo(name: str, sizes: list[int]) -> None:
    """Two ranks have one order of summation, so floats are equal, too."""
    dtype = getattr(torch, name)
    ops = ["SUM", "PRODUCT", "MIN", "MAX", *([] if dtype.is_floating_point else ["BAND", "BOR", "BXOR"])]
    for op in ops:
        for size in sizes:
            ours = values(dtype, size)
            theirs = ours.clone()
            dist.all_reduce(ours, getattr(dist.ReduceOp, op))
            dist.all_reduce(theirs, getattr(dist.ReduceOp, op), group=gloo())
            same(ours, theirs)


def average() -> None:
    ours = values(torch.float32, 1000)
    total = ours.clone()
    dist.all_reduce(ours, dist.ReduceOp.AVG)
    dist.all_reduce(total)
    same(ours, total / dist.get_world_size())


def average_of_halves() -> None:
    """Of values whose sum has no float16, and of ones so small that a part of them has none."""
    rank, size = dist.get_rank(), dist.get_world_size()
    half = torch.float16
    for value in (30000.0, 65504.0, -65504.0, 2.0**-24):
        mean = torch.full((2 * size,), value, dtype=half)
        mean[0] = value * rank / size  # which is not the same everywhere
        whole = mean.clone()
        for tensor in (whole, strided := mean.repeat_interleave(2)[::2]):
            dist.all_reduce(tensor, dist.ReduceOp.AVG)
        same(strided, whole)
        same(whole[1:], mean[1:])
        expected = torch.tensor([value * other / size for other in range(size)], dtype=half).float().mean()
        same(whole[:1], expected.to(half).reshape(1))
        later = mean.clone()
        dist.all_reduce(later, dist.ReduceOp.AVG, async_op=True).wait()
        same(later, whole)
        source = mean.clone()
        dist.reduce(source, 1, dist.ReduceOp.AVG)
        same(source, whole if rank == 1 else mean)
        part, given = torch.empty(2, dtype=half), mean.clone()
        dist.reduce_scatter_tensor(part, given, dist.ReduceOp.AVG)
        same(part, whole[2 * rank : 2 * rank + 2])
        same(given, mean)
    infinite = torch.tensor([torch.inf if rank == 1 else 1.0], dtype=half)
    dist.all_reduce(infinite, dist.ReduceOp.AVG)
    assert infinite.isinf().all()


def moves_beside_gloo(name: str) -> None:
    """Everything that brings tensors elsewhere unchanged, with each kind of call."""
    dtype, rank, size = getattr(torch, name), dist.get_rank(), dist.get_world_size()
    for group in (None, gloo()):
        results = []
        tensor = values(dtype, 7, 3)
        dist.broadcast(tensor, 1, group=group)
        results.append(tensor)
        mine = values(dtype, 5)
        parts = [torch.empty_like(mine) for _ in range(size)]
        dist.all_gather(parts, mine, group=group)
        results += parts
        whole = torch.empty(5 * size, dtype=dtype)
        dist.all_gather_into_tensor(whole, mine, group=group)
        results.append(whole)
        gathered = [torch.empty_like(mine) for _ in range(size)] if rank == 1 else None
        dist.gather(mine, gathered, dst=1, group=group)
        results += gathered or []
        one = torch.empty_like(mine)
        each = [values(dtype, 5, seed=r) for r in range(size)] if rank == 1 else None
        dist.scatter(one, each, src=1, group=group)
        results.append(one)
        exchanged = torch.empty(2 * size, 3, dtype=dtype)
        dist.all_to_all_single(exchanged, values(dtype, 2 * size, 3), group=group)
        results.append(exchanged)
        counts = [r + rank for r in range(size)]  # rank r gets r + rank rows
        uneven = torch.empty(sum(counts), 3, dtype=dtype)
        dist.all_to_all_single(uneven, values(dtype, sum(counts), 3), counts, counts, group=group)
        results.append(uneven)
        if group is None:
            ours = results
    assert len(ours) == len(results)
    for one_of_ours, one_of_theirs in zip(ours, results, strict=True):
        same(one_of_ours, one_of_theirs)


def results_over_what_is_sent() -> None:
    """One tensor for both sides of a call: as if what is sent were kept (gloo's is wrong at times)."""
    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    for sent in (torch.clone, lambda tensor: tensor):
        exchanged, gathered, elsewhere, summed, shifted = (values(torch.int32, 3 * size) for _ in range(5))
        dist.all_to_all_single(exchanged, sent(exchanged))
        dist.all_gather_into_tensor(gathered, sent(gathered[3 * rank :][:3]))
        dist.all_gather_into_tensor(elsewhere, sent(elsewhere[1:4]))
        dist.reduce_scatter_tensor(summed[3 * rank :][:3], sent(summed))
        dist.reduce_scatter_tensor(shifted[1:4], sent(shifted))
        found.append([exchanged, gathered, elsewhere, summed[3 * rank :][:3], shifted[1:4]])
    for apart, over in zip(*found, strict=True):
        same(apart, over)


def reductions_beside_gloo() -> None:
    """reduce and reduce_scatter, in whole numbers: the order of summation does not matter."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8):
        source = values(torch.int64, 3 * size).to(dtype)
        found = []
        for group in (None, gloo()):
            tensor = source.clone()
            dist.reduce(tensor, 1, group=group)
            part = torch.empty(3, dtype=dtype)
            dist.reduce_scatter(part, list(source.clone().chunk(size)), group=group)
            sizes = list(range(1, size + 1))
            uneven = values(torch.int64, sum(sizes)).to(dtype).split(sizes)
            own = torch.empty_like(uneven[rank])
            work = dist.reduce_scatter(own, list(uneven), group=group, async_op=True)
            work.wait()
            assert group is not None or work.result() == [own]
            if rank == 1:
                found.append(tensor)
            found += [part, own]
            if group is None:
                assert rank == 1 or torch.equal(tensor, source), (
                    "a rank that is not the root keeps its values"
                )
                single = torch.empty(3, dtype=dtype)
                dist.reduce_scatter_tensor(single, source.clone())
                same(single, part)
        half = len(found) // 2
        for ours, theirs in zip(found[:half], found[half:], strict=True):
            same(ours, theirs)


def shapes() -> None:
    """Tensors that are not contiguous, empty or have no dimension; those that need gradients."""
    size = dist.get_world_size()
    transposed = torch.arange(6.0).reshape(2, 3).t()
    dist.all_reduce(transposed)
    same(transposed, torch.arange(6.0).reshape(2, 3).t() * size)
    channels = torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last)
    dist.broadcast(channels, 0)
    strided = torch.zeros(10)[::2]
    dist.all_gather_into_tensor(outputs := torch.empty(5 * size), strided)
    same(outputs, torch.zeros(5 * size))
    for tensor in (torch.tensor(2.0), torch.ones(0), torch.ones(3, requires_grad=True)):
        expected = tensor.detach() * size
        dist.all_reduce(tensor.detach() if tensor.requires_grad else tensor)
        same(tensor.detach(), expected)
    complex_ones = torch.ones(3, dtype=torch.complex64)
    dist.all_reduce(complex_ones)
    same(complex_ones, torch.full((3,), size, dtype=torch.complex64))


def split_sizes_of_some_ranks() -> None:
    """Equal ones, which one rank gives and the others leave out, are the same call."""
    rank, size = dist.get_rank(), dist.get_world_size()
    sizes = [[1] * size] * 2 if rank == 1 else []
    dist.all_to_all_single(output := torch.empty(size), torch.full((size,), float(rank)), *sizes)
    same(output, torch.arange(float(size)))


def signs_that_a_view_has() -> None:
    """Tensors whose memory has other signs than they: negated views, into and out of calls."""
    size = dist.get_world_size()
    imaginary = torch.tensor([1 + 2j]).conj().imag
    assert imaginary.is_neg() and imaginary.is_contiguous()
    dist.all_gather_into_tensor(outputs := torch.empty(size), imaginary)
    same(outputs, torch.full((size,), -2.0))
    received = torch.zeros(1)
    dist.broadcast(imaginary if dist.get_rank() == 0 else received, 0)
    if dist.get_rank() > 0:
        same(received, torch.tensor([-2.0]))
    negated = torch._neg_view(torch.tensor([1.0, 2.0]))
    dist.all_reduce(negated)
    same(negated.resolve_neg(), torch.tensor([-1.0, -2.0]) * size)
    parts = [torch._neg_view(torch.zeros(1)) for _ in range(size)]
    dist.all_gather(parts, torch.ones(1))
    same(torch.stack(parts), torch.ones(size, 1))
    rows = torch.tensor([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]]).conj().imag.t()
    dist.all_reduce(rows)
    same(rows.resolve_neg(), torch.tensor([[-2.0, -6.0], [-4.0, -8.0]]) * size)


def asynchronous() -> None:
    """Several in flight, waited for in the wrong order; futures with callbacks; is_completed."""
    size = dist.get_world_size()
    tensors = [torch.full((1000 * (i + 1),), float(i)) for i in range(8)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait()
        assert work.is_completed() and work.is_success() and work.exception() is None
    for i, tensor in enumerate(tensors):
        same(tensor, torch.full_like(tensor, float(i * size)))
    tensor = torch.ones(100)
    work = dist.all_reduce(tensor, async_op=True)
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    same(doubled.wait(), torch.full((100,), 2.0 * size))
    same(work.result()[0], tensor)
    later = [dist.all_reduce(torch.ones(3), async_op=True).get_future() for _ in range(5)]
    for future in reversed(later):
        same(future.wait()[0], torch.full((3,), float(size)))
    # One that others were asked for before it, and which is over before they are.
    rank = dist.get_rank()
    received, own = torch.empty(10), torch.empty(10)
    awaited = dist.irecv(received, (rank - 1) % size, tag=7).get_future()
    of_own = dist.irecv(own, rank, tag=8).get_future()
    same(dist.all_reduce(torch.ones(3), async_op=True).get_future().wait()[0], torch.full((3,), float(size)))
    assert not awaited.done() and not of_own.done()
    dist.barrier()
    dist.isend(torch.full((10,), float(rank)), (rank + 1) % size, tag=7)
    dist.isend(torch.full((10,), 9.0), rank, tag=8)
    same(awaited.wait()[0], torch.full((10,), float((rank - 1) % size)))
    same(of_own.wait()[0], torch.full((10,), 9.0))


def callbacks_that_wait() -> None:
    """Futures within callbacks of futures, in whose callbacks are others."""
    size = dist.get_world_size()

    def deeper(depth: int) -> torch.Tensor:
        future = dist.all_reduce(torch.ones(4), async_op=True).get_future()
        return future.then(lambda ended: ended.value()[0] + (deeper(depth - 1) if depth else 0)).wait()

    same(deeper(3), torch.full((4,), 4.0 * size))


def left_coalescing() -> None:
    """Calls after a block that was left by an error are not taken for parts of it."""
    size = dist.get_world_size()

    def error_of(block: Any) -> str:
        try:
            block()
        except Exception as error:
            return type(error).__name__
        return ""

    def interrupted(device: torch.device | None) -> None:
        with dist._coalescing_manager(device=device):
            dist.all_reduce(never)
            raise KeyError

    def mixed() -> None:
        with dist._coalescing_manager(device=torch.device("cpu")):
            dist.all_reduce(never)
            dist.all_gather_into_tensor(torch.empty(size), never)

    def nested() -> None:
        with dist._coalescing_manager():
            dist.all_reduce(one)
            assert error_of(lambda: dist._coalescing_manager().__enter__()) == "ValueError"
            dist.all_reduce(other)

    for block, name in (
        (lambda: interrupted(None), "KeyError"),
        (lambda: interrupted(torch.device("cpu")), "KeyError"),
        (mixed, "RuntimeError"),
        (nested, ""),
    ):
        never, one, other = torch.ones(1), torch.ones(1), torch.ones(1)
        assert error_of(block) == name
        for tensor in () if block is nested else (one, other):
            dist.all_reduce(tensor)
        assert (never.item(), one.item(), other.item()) == (1, size, size), name


def coalesced() -> None:
    """Several calls as one, waited for or not, recorded by torch or by this backend."""
    size = dist.get_world_size()
    for device in (None, torch.device("cpu")):
        for asynchronous in (False, True):
            tensors = [torch.full((3,), float(number)) for number in range(3)]
            with dist._coalescing_manager(device=device, async_ops=asynchronous) as manager:
                for tensor in tensors:
                    dist.all_reduce(tensor)
            if asynchronous:
                manager.wait()
            for number, tensor in enumerate(tensors):
                same(tensor, torch.full((3,), float(number * size)))


def transfers() -> None:
    """Sends and receives: in order, by tag in another one, to oneself, in batches."""
    rank, size = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % size, (rank - 1) % size
    sent = [torch.full((10,), rank * 10.0 + i) for i in range(3)]
    works = [dist.isend(tensor, right, tag=tag) for tag, tensor in enumerate(sent)]
    received = [torch.empty(10) for _ in range(3)]
    for tag in (2, 0, 1):
        assert dist.recv(received[tag], left, tag=tag) == left
    for tag, tensor in enumerate(received):
        same(tensor, torch.full((10,), left * 10.0 + tag))
    for work in works:
        work.wait()
    mine = torch.empty(10)
    awaited = dist.irecv(mine, rank)
    dist.isend(sent[0], rank).wait()
    awaited.wait()
    same(mine, sent[0])
    assert awaited.source_rank() == rank
    into = torch.empty(4, dtype=torch.bfloat16)
    operations = [
        dist.P2POp(dist.irecv, into, left),
        dist.P2POp(dist.isend, into.new_full((4,), rank), right),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    same(into, torch.full((4,), left, dtype=torch.bfloat16))


def objects() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    told: list[Any] = [None] * size
    dist.all_gather_object(told, {"rank": rank, "words": "a" * rank})
    assert told == [{"rank": r, "words": "a" * r} for r in range(size)]
    one = [f"of {rank}"]
    dist.broadcast_object_list(one, 1)
    assert one == ["of 1"]
    everyone: list[Any] = [None] * size
    dist.gather_object(rank, everyone if rank == 0 else None)
    assert rank != 0 or everyone == list(range(size))
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(size)] if rank == 0 else [None] * size)
    assert mine == [f"for {rank}"]


def subgroups() -> None:
    """Groups of members that others know nothing of, overlapping, in another order, one after the other."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for _ in range(2):
        neighbours = [dist.new_group([r, (r + 1) % size]) for r in range(size)]
        for r, group in enumerate(neighbours):
            if rank in (r, (r + 1) % size):
                total = torch.tensor([rank])
                dist.all_reduce(total, group=group)
                assert total.item() == r + (r + 1) % size
                dist.destroy_process_group(group)
    local = dist.new_group([0, 2], use_local_synchronization=True) if rank in (0, 2) else None
    if local is not None:
        tensor = torch.tensor([rank])
        dist.broadcast(tensor, 2, group=local)
        assert tensor.item() == 2 and dist.get_backend(local) == "csaud"
    alone = dist.new_group([rank], use_local_synchronization=True)
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=alone)
    same(tensor, torch.ones(3))


def beside_the_default_group() -> None:
    """Groups over csaud in a job whose own group is another backend's, and ends with them."""
    size = dist.get_world_size()
    first, second = (dist.new_group(backend="csaud") for _ in range(2))
    for group in (None, first, second):
        dist.all_reduce(tensor := torch.ones(3), group=group)
        same(tensor, torch.full((3,), float(size)))
    assert [dist.get_backend(group) for group in (None, first)] == ["gloo", "csaud"]
    dist.destroy_process_group(first)
    dist.all_reduce(torch.ones(3), group=second)
    dist.destroy_process_group()


def called_by_numbers() -> None:
    """Methods of the process group with the root in place of options."""
    rank, size, group = dist.get_rank(), dist.get_world_size(), dist.group.WORLD
    group.broadcast(tensor := torch.full((2,), float(rank)), 1).wait()
    same(tensor, torch.ones(2))
    group.reduce(tensor, 1).wait()
    same(tensor, torch.ones(2) * (size if rank == 1 else 1))
    group.reduce(tensor.fill_(1), 0, dist.ReduceOp.MAX).wait()
    group.gather(parts := [torch.empty(2) for _ in range(size if rank == 0 else 0)], tensor, 0).wait()
    group.scatter(one := torch.empty(2), parts, 0).wait()
    same(one, torch.ones(2))


def called_by_earlier_names() -> None:
    """What calls a process group itself may have been written before PyTorch 2.13."""
    rank, size, group = dist.get_rank(), dist.get_world_size(), dist.group.WORLD
    mine, all_ = torch.full((2,), float(rank)), torch.empty(2 * size)
    group._allgather_base(all_, mine).wait()
    same(all_, torch.arange(size).repeat_interleave(2).float())
    group._reduce_scatter_base(mine, all_).wait()
    same(mine, torch.full((2,), float(size * rank)))
    outputs = [torch.empty(2 * size), torch.empty(size)]
    group.allgather_into_tensor_coalesced(outputs, [mine, mine[:1]]).wait()
    same(outputs[1], size * torch.arange(size).float())
    same(outputs[0], outputs[1].repeat_interleave(2))
    group.reduce_scatter_tensor_coalesced([mine], outputs[:1]).wait()
    same(mine, torch.full((2,), float(size * size * rank)))


def sparse_sums_beside_gloo() -> None:
    """As of embeddings: ranks have different elements, some of them twice, and the first one none."""
    count = 7 * dist.get_rank()
    for shape in ((50,), (50, 3)):
        places = values(torch.int64, 1, count).abs() * 9
        ours = torch.sparse_coo_tensor(places, values(torch.int64, count, *shape[1:]).float(), shape)
        theirs = ours.to_dense()
        dist.all_reduce(ours)
        dist.all_reduce(theirs, group=gloo())
        same(ours.to_dense(), theirs)


def barriers() -> None:
    for _ in range(3):
        dist.barrier()
    dist.barrier(async_op=True).wait()
    dist.monitored_barrier()


def refused() -> dict[str, str]:
    """What misuse says."""
    said = {}
    size = dist.get_world_size()
    wrong = {
        "sizes": lambda: dist.all_gather_into_tensor(torch.empty(size + 1), torch.ones(1)),
        "average": lambda: dist.all_reduce(torch.ones(1, dtype=torch.int32), dist.ReduceOp.AVG),
        "bits": lambda: dist.all_reduce(torch.ones(1), dist.ReduceOp.BAND),
        "splits": lambda: dist.all_to_all_single(torch.ones(size), torch.ones(size), [1] * size, [2] * size),
        "sparse": lambda: dist.broadcast(torch.eye(2).to_sparse(), 0),
        "tag": lambda: dist.send(torch.ones(1), dist.get_rank() ^ 1, tag=-1),
        "any source": lambda: dist.recv(torch.ones(1)),
        "device": lambda: dist.all_reduce(torch.ones(1, device="meta")),
        "bytes": lambda: dist.all_reduce(torch.ones(4).to(torch.float8_e4m3fn)),
    }
    for name, call in wrong.items():
        try:
            call()
        except (RuntimeError, ValueError) as error:
            said[name] = f"{type(error).__name__}: {error}"
    dist.barrier()
    return said
