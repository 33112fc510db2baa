"""The line of one machine to the hub, as a process of its own that can be cut: frozen it is silent, killed it is gone.

python -m tests.hub.line FROM TO    (folders of unix sockets, as Postgres names them)
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

SOCKET = ".s.PGSQL.5432"


async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await source.read(1 << 16):
            target.write(piece)
            await target.drain()
    target.close()


async def serve(here: str, there: str) -> None:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(there)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

    async with await asyncio.start_unix_server(connect, here) as server:
        await server.serve_forever()


class Line:
    """A machine's own way to the hub. `url` is the hub's address as that machine knows it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, (self.url, self._far) = folder, _addresses(folder, url)
        folder.mkdir(parents=True, exist_ok=True)
        self._process: subprocess.Popen[bytes] | None = None
        self.mend()

    def freeze(self) -> None:
        """Nothing arrives any more, and nobody is told so."""
        if self._process:
            self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGCONT)

    def cut(self) -> None:
        """Connections break, and new ones are refused."""
        if self._process:
            self._process.kill()
            self._process.wait()
        with suppress(FileNotFoundError):
            (self.folder / SOCKET).unlink()
        self._process = None

    def mend(self) -> None:
        """It works again."""
        self.cut()
        command = [sys.executable, "-m", "tests.hub.line", str(self.folder), self._far]
        self._process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        while not (self.folder / SOCKET).exists():
            assert self._process.poll() is None
            time.sleep(0.02)


def _addresses(folder: Path, url: str) -> tuple[str, str]:
    before, _, far = url.partition("host=")
    return f"{before}host={folder}", far


if __name__ == "__main__":
    asyncio.run(serve(*(f"{folder}/{SOCKET}" for folder in sys.argv[1:])))
