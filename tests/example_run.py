"""How the tests run an example."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(name: str, folder: Path) -> str:
    """Run an example on Keras 3 and TensorFlow, with `folder` for what is temporary."""
    own = {key: value for key, value in os.environ.items() if key != "TF_USE_LEGACY_KERAS"}
    more = {"KERAS_BACKEND": "tensorflow", "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, f"examples/{name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=own | more,
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    return done.stdout
