"""Batch memory: lent, given back when the last reference is gone, and never before."""

import gc
import mmap

import numpy as np
import pytest

from dfloader.memory import Memory, Ring, Slabs, batch_bytes, carve, page_aligned
from dfloader.spec import ArraySpec

SPECS = {"image": ArraySpec((5, 3, 3), "float32"), "mask": ArraySpec((5, 3, 1), "uint8")}


def slabs() -> Slabs:
    return Slabs(4096, keep=2)


def ring() -> Ring:
    return Ring(mmap.mmap(-1, 4 * 4096), slots=4, nbytes=4096, reserve=1)


def address(memory: Memory) -> int:
    return int(memory.ctypes.data)


@pytest.mark.parametrize("store", [slabs(), ring()], ids=["slabs", "ring"])
def test_memory_comes_back_when_the_last_view_is_gone(store: Slabs | Ring) -> None:
    memory = store.take()[1]
    first = address(memory)
    image = carve(memory, SPECS, 7)["image"]
    del memory
    corner = image[1:3].T[0]
    del image
    other = store.take()[1]
    assert address(other) != first
    del corner
    again = store.take()[1]
    assert address(again) == first


@pytest.mark.parametrize("store", [slabs(), ring()], ids=["slabs", "ring"])
def test_memory_under_a_memoryview_is_not_lent_again(store: Slabs | Ring) -> None:
    memory = store.take()[1]
    first = address(memory)
    view = memoryview(memory[7:9])
    del memory
    assert address(store.take()[1]) != first
    view.release()
    assert address(store.take()[1]) == first


@pytest.mark.parametrize("store", [slabs(), ring()], ids=["slabs", "ring"])
def test_memory_that_tensorflow_aliases_is_not_lent_again(store: Slabs | Ring) -> None:
    tf = pytest.importorskip("tensorflow")
    memory = store.take()[1]
    first = address(memory)
    memory.fill(7)
    batches = [memory]
    dataset = tf.data.Dataset.from_generator(
        lambda: iter([batches.pop()]), output_signature=tf.TensorSpec((4096,), tf.uint8)
    )
    tensor = next(iter(dataset))
    aliased = address(np.frombuffer(memoryview(tensor), np.uint8)) == first  # TF 2.18 copies
    del memory, dataset
    gc.collect()
    other = store.take()[1]
    assert (address(other) != first) == aliased
    other.fill(9)
    assert (tensor.numpy() == 7).all()


def test_arrays_of_a_batch_lie_side_by_side_and_aligned() -> None:
    memory = np.zeros(page_aligned(batch_bytes(SPECS, 7)), np.uint8)
    arrays = carve(memory, SPECS, 7)
    assert {name: (a.shape, a.dtype.name) for name, a in arrays.items()} == {
        "image": ((7, 5, 3, 3), "float32"),
        "mask": ((7, 5, 3, 1), "uint8"),
    }
    assert address(arrays["image"]) == address(memory)
    assert address(arrays["mask"]) - address(memory) == 1280  # 7 * 5 * 9 * 4 = 1260, rounded up
    assert batch_bytes(SPECS, 7) == 1280 + 128


def test_slabs_keep_only_so_many() -> None:
    store = Slabs(4096, keep=2)
    lent = [store.take()[1] for _ in range(5)]
    del lent
    assert len(store._free) == 2


def test_a_ring_copies_rather_than_hand_out_its_last_slots() -> None:
    store = ring()
    handed_out = []
    for value in range(8):
        _, memory = store.take()
        memory.fill(value)
        handed_out.append(store.settle(memory))
        del memory
    assert [int(memory[5]) for memory in handed_out] == list(range(8))
    assert len({address(memory) for memory in handed_out}) == 8
