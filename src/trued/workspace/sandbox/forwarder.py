"""The forwarder runs in a server's sandbox and starts the server. The engine sends stream sockets to the forwarder,
which connects each of them to the server's port.

Python reads this file from standard input: `python -I -S -c … CONTROL PORT -- PROGRAM ARGUMENT…`. It uses the standard
library only. CONTROL is the socket over which the engine sends stream sockets. When CONTROL is closed, everything ends.
"""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time

HOSTS = ("127.0.0.1", "::1")  # "localhost" can mean either
PIECE_BYTES = 1 << 16
MOST_AT_ONCE = 128
FIRST_S = 5.0  # timeout for connecting: long enough for a busy machine; a refusal is immediate


def main(control: int, port: int, argv: list[str]) -> int:
    """Start the server and connect callers until CONTROL is closed."""
    orders = socket.socket(fileno=control)
    orders.set_inheritable(False)
    try:
        server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        os.write(2, f"trued: cannot start {argv[0]}: {error.strerror}\n".encode())
        orders.send(b"127")
        return 127
    threading.Thread(target=_report_end, args=(server, orders), daemon=True).start()
    slots = threading.BoundedSemaphore(MOST_AT_ONCE)
    while True:
        try:
            message, handles, _, _ = socket.recv_fds(orders, 1, 1)
        except OSError:
            break
        if not message:
            break
        for handle in handles:
            threading.Thread(
                target=_serve_caller, args=(socket.socket(fileno=handle), port, slots), daemon=True
            ).start()
    with contextlib.suppress(OSError):
        os.killpg(server.pid, signal.SIGKILL)
    os._exit(0)  # does not wait for threads, because the sandbox ends everything


def _report_end(server: "subprocess.Popen[bytes]", orders: socket.socket) -> None:
    """Send the exit code, so that the engine does not wait for a server that has already failed."""
    code = server.wait()
    time.sleep(0.05)  # so that the server's last output arrives first
    with contextlib.suppress(OSError):
        orders.send(str(code).encode())


def _serve_caller(caller: socket.socket, port: int, slots: threading.BoundedSemaphore) -> None:
    with slots, caller, contextlib.suppress(OSError), _connect(port) as server:
        _relay(caller, server)


def _connect(port: int) -> socket.socket:
    for host in HOSTS[:-1]:
        with contextlib.suppress(OSError):
            return socket.create_connection((host, port), timeout=FIRST_S)
    return socket.create_connection((HOSTS[-1], port), timeout=FIRST_S)


def _relay(caller: socket.socket, server: socket.socket) -> None:
    """Copy data both ways until the server has sent everything. A caller that has finished sending still gets its
    answer."""
    server.settimeout(None)
    with selectors.DefaultSelector() as ready:
        ready.register(caller, selectors.EVENT_READ, server)
        ready.register(server, selectors.EVENT_READ, caller)
        while True:
            for key, _ in ready.select():
                piece = key.fileobj.recv(PIECE_BYTES)  # type: ignore[union-attr]
                if piece:
                    key.data.sendall(piece)
                    continue
                if key.fileobj is server:
                    return
                ready.unregister(key.fileobj)
                key.data.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[4:]))
