"""The allocator's setting, in a process of its own: it stays until the process ends."""

import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_it_is_taken_by_glibc_and_by_no_other() -> None:
    code = "from dfloader.allocator import keep_freed_memory; print(keep_freed_memory())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == str(platform.libc_ver()[0] == "glibc")


def test_freed_memory_is_used_again() -> None:
    """Blocks of 4 MB, freed and asked for 50 times, after what from_generator does to glibc."""
    code = """
        import ctypes, resource, sys
        from dfloader.allocator import keep_freed_memory
        libc = ctypes.CDLL(None)
        libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        libc.mallopt(-1, 128 * 1024)
        if sys.argv[1] == "kept":
            keep_freed_memory()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(50):
            block = libc.malloc(4 * 2**20)
            ctypes.memset(block, 1, 4 * 2**20)
            libc.free(block)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
    faults = {
        how: int(
            subprocess.run(
                [sys.executable, "-c", "if True:" + code, how],
                capture_output=True,
                text=True,
                check=True,
                cwd=ROOT,
            ).stdout
        )
        for how in ("kept", "given back")
    }
    if platform.libc_ver()[0] == "glibc":
        assert faults["kept"] < faults["given back"] / 5
