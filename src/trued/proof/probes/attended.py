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
    for service in services:
        surroundings.update(service["variables"])
    os.environ.update({name: value for service in services for name, value in service["variables"].items()})
    for number, service in enumerate(services):
        service["log"] = os.path.join(os.environ["TMPDIR"], "service-%d.log" % number)
        with open(service["log"], "wb") as log:
            try:
                process = subprocess.Popen(
                    service["command"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=surroundings,
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                give_up(telling, service, str(error.strerror))
        why = wait_until_up(process, service)
        if why:
            give_up(telling, service, why)
    if telling >= 0:
        os.write(telling, b"ready")
        os.close(telling)
    try:
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(2, ("trued: cannot start %s: %s\n" % (argv[0], error.strerror)).encode())
        os._exit(127)


def wait_until_up(process: Any, service: dict[str, Any]) -> str:
    """Wait until the service is up. Returns why it is not, or ""."""
    deadline = time.monotonic() + service["within_s"]
    while time.monotonic() < deadline:
        if process.poll() not in (None, 0):  # after exit code 0, it may continue in the background
            return "it ended with %s" % process.returncode
        if is_answering(service):
            return ""
        time.sleep(0.05)
    return "it did not answer within %g s" % service["within_s"]


def is_answering(service: dict[str, Any]) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", service["port"], timeout=2)
    try:
        connection.connect()
        if service["status"] is None:
            return True
        connection.request("GET", service["path"])
        return bool(connection.getresponse().status == service["status"])
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def give_up(telling: int, service: dict[str, Any], why: str) -> None:
    output = ""
    try:
        with open(service["log"], "rb") as log:
            output = log.read()[-600:].decode("utf-8", "replace")
    except OSError:
        pass
    words = "the service %s did not start: %s: %s" % (service["command"][0], why, output)
    os.write(telling if telling >= 0 else 2, words.encode("utf-8", "replace")[:4000])
    os._exit(NOT_UP)


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[4:])
