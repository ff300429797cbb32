"""What goes wrong ends in a clear error in time, and leaves nothing behind.

Each case is a process of its own with a time limit. What it leaves is found by a mark in the
environment, which every process that it starts inherits.
"""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

TESTS = Path(__file__).parent
LIMIT_SECONDS = 10  # from the fault to the end of the process
START_SECONDS = 60  # for imports, on a machine that does other things
PROCESSES = ["forkserver", "spawn", "fork"]
THREADS_AND_PROCESSES = ["threads", *PROCESSES]
KILLED = ("os.kill(os.getpid(), 9)", "RuntimeError: A worker process died (killed by SIGKILL)")


def staff(how: str, workers: int = 2) -> str:
    """Spell a staff as keyword arguments."""
    if how == "threads":
        return f"workers={workers}"
    return f"workers={workers}, use_multiprocessing=True, start_method={how!r}"


class Script:
    """A Python script that runs as its user would run it."""

    def __init__(self, folder: Path, source: str, *, before: tuple[str, ...] = ()) -> None:
        self.mark = uuid.uuid4().hex
        self.path = folder / f"script_{self.mark}.py"
        self.path.write_text(textwrap.dedent(source))
        environment = {
            **os.environ,
            "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}",
            "DFLOADER_TEST_MARK": self.mark,
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        self.process = subprocess.Popen(
            [*before, sys.executable, "-u", str(self.path)],
            env=environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_for(self, word: str) -> None:
        """Read lines until one is `word`: the fault comes now."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip() == word:
                return
        assert self.process.stderr is not None
        raise AssertionError(f"ended before it said {word!r}: {self.process.stderr.read()}")

    def end(self, seconds: float = START_SECONDS) -> tuple[str, str]:
        """Wait for the end; give what was said on stdout and stderr."""
        return self.process.communicate(timeout=seconds)

    def left(self, seconds: float = LIMIT_SECONDS) -> list[str]:
        """Give the processes that are there after so long; none, as soon as there are none."""
        end = time.monotonic() + seconds
        while (found := list(self._marked())) and time.monotonic() < end:
            time.sleep(0.05)
        return found

    def _marked(self) -> Iterator[str]:
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                marked = process.environ().get("DFLOADER_TEST_MARK") == self.mark
                if marked and process.status() != psutil.STATUS_ZOMBIE:
                    yield f"{process.pid}: {process.cmdline()}"


@pytest.fixture
def run(tmp_path: Path, folder: Path) -> Iterator[Any]:
    """Start scripts; in them FILE is a picture. Check that /dev/shm is as it was."""
    scripts: list[Script] = []
    picture = next(folder.glob("*.jpg"))

    def start(source: str, **how: Any) -> Script:
        head = f"FILE = {str(picture)!r}\n"
        scripts.append(Script(tmp_path, head + textwrap.dedent(source), **how))
        return scripts[-1]

    before = shared()
    yield start
    left = [process for script in scripts for process in script.left()]
    for script in scripts:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(script.process.pid, signal.SIGKILL)
    assert left == []
    assert shared() <= before


def shared() -> set[str]:
    """Give what Python, or we, would leave in /dev/shm; other tests run beside this one."""
    names = os.listdir("/dev/shm") if Path("/dev/shm").is_dir() else []  # noqa: PTH208
    return {name for name in names if "dfloader" in name or name.startswith("psm_")}


@pytest.mark.parametrize(
    ("how", "question", "said"),
    [
        *((how, *KILLED) for how in PROCESSES),
        ("forkserver", "os._exit(3)", "RuntimeError: A worker process died (exit code 3)"),
        ("forkserver", "len(bytearray(2**60))", "MemoryError"),
        ("forkserver", "sys.exit('enough')", "SystemExit: enough"),
    ],
)
def test_u082_u101_a_worker_that_fails_is_an_error_in_time(
    run: Any, how: str, question: str, said: str
) -> None:
    script = run(
        f"""
        import time
        from engine_of import engine

        one = engine(FILE, {question!r}, {staff(how)})
        start = time.monotonic()
        futures = [one.submit(0, i) for i in range(8)]
        for future in futures:
            try:
                future.result(timeout={LIMIT_SECONDS})
            except BaseException as error:
                print(f"{{type(error).__name__}}: {{error}}")
        print(time.monotonic() - start)
        """
    )
    out, err = script.end()
    *errors, seconds = out.splitlines()
    assert len(errors) == 8, (out, err)
    assert all(error.startswith(said) for error in errors)
    assert float(seconds) < LIMIT_SECONDS
    assert err == ""


@pytest.mark.parametrize(
    ("how", "seconds"),
    [*((how, 0.05) for how in THREADS_AND_PROCESSES), ("threads", 1000), ("forkserver", 1000)],
)
def test_ctrl_c_ends_it_in_time(run: Any, how: str, seconds: float) -> None:
    script = run(
        f"""
        from engine_of import engine
        from dfloader.workers import ahead

        one = engine(FILE, "time.sleep({seconds})", images=4096, {staff(how)})
        print("now")
        for _ in ahead(lambda i: one.submit(0, i), range(1024), 10):
            pass
        """
    )
    script.wait_for("now")
    time.sleep(1)
    os.killpg(script.process.pid, signal.SIGINT)
    _, err = script.end(LIMIT_SECONDS)
    assert script.process.returncode in (-signal.SIGINT, 130), err
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    assert err.count("Traceback") == 1


def test_ctrl_c_in_fit_ends_it_in_time(run: Any) -> None:
    script = run(
        """
        import keras, pandas as pd
        from dfloader import DataFrameSequence

        df = pd.DataFrame({"filename": [FILE] * 640, "class": ["a", "b"] * 320})
        seq = DataFrameSequence(df, 4, target_size=(8, 8), workers=2, use_multiprocessing=True)
        model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(2)])
        model.compile("sgd", "mse")
        begun = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: print("now"))
        model.fit(seq, epochs=100000, verbose=0, callbacks=[begun])
        """
    )
    script.wait_for("now")
    os.killpg(script.process.pid, signal.SIGINT)
    _, err = script.end(LIMIT_SECONDS)
    assert script.process.returncode in (-signal.SIGINT, 130), err
    assert err.splitlines()[-1] == "KeyboardInterrupt"


@pytest.mark.parametrize(
    ("how", "seconds"), [*((how, 0.05) for how in PROCESSES), ("forkserver", 1000)]
)
def test_workers_end_when_their_parent_is_killed(run: Any, how: str, seconds: float) -> None:
    script = run(
        f"""
        from engine_of import engine

        one = engine(FILE, "time.sleep({seconds})", images=4096, {staff(how)})
        futures = [one.submit(0, i) for i in range(100)]
        print("now")
        futures[-1].result()
        """
    )
    script.wait_for("now")
    time.sleep(1)
    script.process.kill()
    script.end(LIMIT_SECONDS)
    assert script.left() == []


@pytest.mark.parametrize("how", THREADS_AND_PROCESSES)
def test_u084_a_script_that_closes_nothing_ends_quietly(run: Any, how: str) -> None:
    script = run(
        f"""
        from engine_of import engine

        one = engine(FILE, {staff(how)})
        batch = one.submit(0, 0).result()
        unread = [one.submit(0, i) for i in range(10)]
        print("read")
        """
    )
    assert script.end() == ("read\n", "")


@pytest.mark.parametrize("how", ["forkserver", "spawn"])
def test_a_script_without_a_guard_runs_once(run: Any, how: str) -> None:
    script = run(
        f"""
        print("run")
        from engine_of import engine

        one = engine(FILE, "'pandas' in sys.modules and 'script' in str(sys.modules)", {staff(how)})
        print(one.submit(0, 0).result().batch[0].max())
        """
    )
    assert script.end() == ("run\n0.0\n", "")


@pytest.mark.skipif(
    not shutil.which("unshare"), reason="needs unshare to have a /dev/shm of its own"
)
def test_a_full_dev_shm_does_no_harm(run: Any) -> None:
    script = run(
        f"""
        import subprocess

        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", "/dev/shm"])
        if mounted.returncode:
            raise SystemExit("no mount")
        with open("/dev/shm/full", "wb") as file:
            file.write(bytes(4096))
        from engine_of import engine

        one = engine(FILE, "7", {staff("forkserver")})
        print(one.submit(0, 0).result().batch[0].max())
        """,
        before=("unshare", "--map-root-user", "--mount"),
    )
    out, err = script.end()
    if "no mount" in err or "unshare" in err:
        pytest.skip("may not mount here")
    assert (out, err) == ("7.0\n", "")


def test_no_shared_memory_is_an_error_that_leaves_nothing(run: Any) -> None:
    script = run(
        f"""
        import errno, os
        from engine_of import engine

        def full(name):
            raise OSError(errno.ENOSPC, "No space left on device")

        os.memfd_create = full
        before = os.listdir("/proc/self/fd")
        try:
            engine(FILE, {staff("forkserver")})
        except OSError as error:
            print(error)
        print(len(os.listdir("/proc/self/fd")) - len(before))
        """
    )
    assert script.end() == ("[Errno 28] No space left on device\n0\n", "")


@pytest.mark.parametrize("how", THREADS_AND_PROCESSES)
def test_u086_u087_fifty_epochs_hold_memory_threads_and_descriptors_level(
    run: Any, how: str
) -> None:
    script = run(
        f"""
        import psutil
        from engine_of import engine
        from dfloader.workers import ahead

        me = psutil.Process()
        one = engine(FILE, {staff(how)})

        def level():
            all_of_us = [me, *me.children(recursive=True)]
            memory = sum(p.memory_full_info().uss for p in all_of_us)
            return memory, me.num_threads(), me.num_fds(), len(all_of_us)

        for epoch in range(50):
            for _ in ahead(lambda i: one.submit(epoch, i), range(16), 10):
                pass
            if epoch == 9:
                before = level()
        print([b - a for a, b in zip(before, level())])
        """
    )
    out, err = script.end()
    memory, *others = eval(out)
    assert others == [0, 0, 0], err
    assert memory < 2_000_000
