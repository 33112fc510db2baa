"""Runs inside the sandbox: starts services, waits until each of them is up, and then executes the check.

Standard library only: `python -I -S attended.py TELLING SERVICES -- PROGRAM ARGUMENT…`. SERVICES is a JSON list of
objects with command, port, variables, path, status and within_s. TELLING is a file descriptor that only this script
has: it writes "ready" there, or which service did not start. If TELLING is negative, only a failure is reported, to
stderr.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from typing import Any

NOT_UP = 97


def main(telling: int, services: list[dict[str, Any]], argv: list[str]) -> None:
    if telling >= 0:
        os.set_inheritable(telling, False)
    surroundings = {name: value for name, value in os.environ.items() if name != "TRUED_CHANNEL"}
    for one in services:
        surroundings.update(one["variables"])
    os.environ.update({name: value for one in services for name, value in one["variables"].items()})
    for number, one in enumerate(services):
        one["log"] = os.path.join(os.environ["TMPDIR"], "service-%d.log" % number)
        with open(one["log"], "wb") as log:
            try:
                process = subprocess.Popen(
                    one["command"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=surroundings,
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                give_up(telling, one, str(error.strerror))
        why = awaited(process, one)
        if why:
            give_up(telling, one, why)
    if telling >= 0:
        os.write(telling, b"ready")
        os.close(telling)
    try:
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(2, ("trued: cannot start %s: %s\n" % (argv[0], error.strerror)).encode())
        os._exit(127)


def awaited(process: Any, one: dict[str, Any]) -> str:
    """Wait until the service is up. Returns why it is not, or ""."""
    until = time.monotonic() + one["within_s"]
    while time.monotonic() < until:
        if process.poll() not in (None, 0):  # after exit code 0, it may continue in the background
            return "it ended with %s" % process.returncode
        if answers(one):
            return ""
        time.sleep(0.05)
    return "it did not answer within %g s" % one["within_s"]


def answers(one: dict[str, Any]) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", one["port"], timeout=2)
    try:
        connection.connect()
        if one["status"] is None:
            return True
        connection.request("GET", one["path"])
        return bool(connection.getresponse().status == one["status"])
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def give_up(telling: int, one: dict[str, Any], why: str) -> None:
    said = ""
    try:
        with open(one["log"], "rb") as log:
            said = log.read()[-600:].decode("utf-8", "replace")
    except OSError:
        pass
    words = "the service %s did not start: %s: %s" % (one["command"][0], why, said)
    os.write(telling if telling >= 0 else 2, words.encode("utf-8", "replace")[:4000])
    os._exit(NOT_UP)


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[4:])
