"""Stands before a server inside its sandbox: starts it, and leads connections that the engine hands in to its port.

Run as a file, with nothing but the standard library: `python -I -S forward.py CONTROL PORT -- PROGRAM ARGUMENT…`.
CONTROL is a socket over which stream sockets are sent; each is connected to the port. When it is closed, all ends.
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

HOSTS = ("127.0.0.1", "::1")  # "localhost" may mean either
PIECE_BYTES = 1 << 16
MOST_AT_ONCE = 128
FIRST_S = 5.0  # for a connection on a busy machine; refused is refused at once


def main(control: int, port: int, argv: list[str]) -> int:
    orders = socket.socket(fileno=control)
    orders.set_inheritable(False)
    try:
        server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        os.write(2, f"trued: cannot start {argv[0]}: {error.strerror}\n".encode())
        orders.send(b"127")
        return 127
    threading.Thread(target=_report_end, args=(server, orders), daemon=True).start()
    places = threading.BoundedSemaphore(MOST_AT_ONCE)
    while True:
        try:
            message, handles, _, _ = socket.recv_fds(orders, 1, 1)
        except OSError:
            break
        if not message:
            break
        for handle in handles:
            threading.Thread(
                target=_serve_caller, args=(socket.socket(fileno=handle), port, places), daemon=True
            ).start()
    with contextlib.suppress(OSError):
        os.killpg(server.pid, signal.SIGKILL)
    os._exit(0)  # threads may still be waiting; the sandbox ends them and all others


def _report_end(server: "subprocess.Popen[bytes]", orders: socket.socket) -> None:
    """The engine need not wait for a server that has failed already."""
    code = server.wait()
    time.sleep(0.05)  # its last words go first
    with contextlib.suppress(OSError):
        orders.send(str(code).encode())


def _serve_caller(caller: socket.socket, port: int, places: threading.BoundedSemaphore) -> None:
    with places, caller, contextlib.suppress(OSError), _connect(port) as server:
        _relay(caller, server)


def _connect(port: int) -> socket.socket:
    for host in HOSTS[:-1]:
        with contextlib.suppress(OSError):
            return socket.create_connection((host, port), timeout=FIRST_S)
    return socket.create_connection((HOSTS[-1], port), timeout=FIRST_S)


def _relay(caller: socket.socket, server: socket.socket) -> None:
    """Both ways, until the server has said all; a caller that has said all may still be answered."""
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
