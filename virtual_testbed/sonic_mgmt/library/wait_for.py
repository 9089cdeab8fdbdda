#!/usr/bin/python
"""Ansible module: waits for a TCP port as Ansible's module of this name does, but in the testbed's simulated time.

A switch that reboots is up again after a while of simulated time, which stands still while Ansible's own module waits
for real. Here each second of it takes `REAL_S` at least, so that what is asked of a switch meanwhile gets there.
sonic-mgmt's reboot looks at port 22 of a switch; here that is the port of its SSH server (VIRTUAL_TESTBED_SSH_PORT).
"""
from __future__ import annotations

import json
import os
import re
import socket
import time
import urllib.request

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: wait_for
short_description: waits until a port is open, or closed, in simulated time
"""
CLOCK = "VIRTUAL_TESTBED_CLOCK"
SSH_PORT = "VIRTUAL_TESTBED_SSH_PORT"
SSH = 22
REAL_S = 0.1
STEP_S = 1
BANNER_BYTES = 1024
CONNECT_S = 5.0


def passes(clock_url: str, seconds: int) -> None:
    """Lets simulated time pass. Raises OSError."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(seconds):
        body = json.dumps({"nanoseconds": STEP_S * 10**9}).encode()
        request = urllib.request.Request(f"{clock_url.rstrip('/')}/advance", body, {"Content-Type": "application/json"})
        with opener.open(request, timeout=600) as answer:
            answer.read()
        time.sleep(REAL_S)


def is_open(host: str, port: int, expected: str) -> bool:
    """Whether a port takes connections, and says what is expected of it. `expected`: a pattern; empty: anything."""
    try:
        with socket.create_connection((host, port), CONNECT_S) as connection:
            connection.settimeout(CONNECT_S)
            said = connection.recv(BANNER_BYTES).decode(errors="replace") if expected else ""
    except OSError:
        return False
    return re.search(expected, said) is not None


def main() -> None:
    """Waits; fails as Ansible's module does."""
    module = AnsibleModule(argument_spec={
        "host": {"default": "127.0.0.1"}, "port": {"type": "int", "required": True}, "state": {"default": "started"},
        "search_regex": {"default": ""}, "delay": {"type": "int", "default": 0},
        "timeout": {"type": "int", "default": 300}})
    given = module.params
    host, expected = given["host"], given["search_regex"] or ""
    port = int(os.environ[SSH_PORT]) if given["port"] == SSH else given["port"]
    is_wanted_open = given["state"] in ("started", "present")
    passes(os.environ[CLOCK], given["delay"])
    for waited_s in range(given["timeout"]):
        if is_open(host, port, expected) == is_wanted_open:
            module.exit_json(changed=False, elapsed=given["delay"] + waited_s, port=given["port"],
                             state=given["state"])
        passes(os.environ[CLOCK], STEP_S)
    module.fail_json(msg=f"Timeout when waiting for {host}:{given['port']} to be {given['state']}")


if __name__ == "__main__":
    main()
