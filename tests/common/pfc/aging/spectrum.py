"""The lifetimes of frames in an NVIDIA Spectrum, by its SDK: a program that the switch's container `syncd` runs.

A frame is discarded that waits longer than the switch's lifetime (SLL), and one at the head of a port's queue after the
port's (HLL), in microseconds; a port that has discarded so many in a row (the stall count) discards the rest too
(sonic-mgmt `packets_aging.py` sets these). A LAG has one lifetime for its ports.
"""

from __future__ import annotations

import json
import shlex

ENDLESS_US = 1 << 31
"""A lifetime from which on nothing ages while a storm lasts: more than half an hour. The SDK may round it."""
LONGEST = '{"sll": 18446744073709551615, "hll": [4294967295, 0]}'
PROGRAM = """
import json
import sys
from python_sdk_api import sx_api as sx

PHYSICAL = 0xFFFFF  # numbers of ports are below, those of LAGs above


def done(name, status):
    if status != sx.SX_STATUS_SUCCESS:
        sys.exit("%s of NVIDIA's SDK ended with %s" % (name, status))


def lags(handle):
    count = sx.new_uint32_t_p()
    sx.uint32_t_p_assign(count, 0)
    name = "sx_api_lag_port_group_iter_get"
    done(name, sx.sx_api_lag_port_group_iter_get(handle, sx.SX_ACCESS_CMD_GET, 0, 0, None, None, count))
    number = sx.uint32_t_p_value(count)
    if not number:
        return []
    found = sx.new_sx_port_log_id_t_arr(number)
    done(name, sx.sx_api_lag_port_group_iter_get(handle, sx.SX_ACCESS_CMD_GET_FIRST, 0, 0, None, found, count))
    return [sx.sx_port_log_id_t_arr_getitem(found, place) for place in range(sx.uint32_t_p_value(count))]


def members(handle, lag, most):
    count = sx.new_uint32_t_p()
    sx.uint32_t_p_assign(count, most)
    found = sx.new_sx_port_log_id_t_arr(most)
    done("sx_api_lag_port_group_get", sx.sx_api_lag_port_group_get(handle, 0, lag, found, count))
    return [sx.sx_port_log_id_t_arr_getitem(found, place) for place in range(sx.uint32_t_p_value(count))]


def ports(handle):
    count = sx.new_uint32_t_p()
    sx.uint32_t_p_assign(count, 0)
    name = "sx_api_port_device_get"
    done(name, sx.sx_api_port_device_get(handle, 1, 0, sx.new_sx_port_attributes_t_arr(0), count))
    number = sx.uint32_t_p_value(count)
    found = sx.new_sx_port_attributes_t_arr(number)
    done(name, sx.sx_api_port_device_get(handle, 1, 0, found, count))
    numbers = [int(sx.sx_port_attributes_t_arr_getitem(found, place).log_port) for place in range(number)]
    groups = lags(handle)
    inside = [port for lag in groups for port in members(handle, lag, number)]
    return groups + [port for port in numbers if port < PHYSICAL and port not in inside]


def of_switch(handle):
    time = sx.new_uint64_t_p()
    done("sx_api_port_sll_get", sx.sx_api_port_sll_get(handle, time))
    return sx.uint64_t_p_value(time)


def of_port(handle, port):
    time, stall = sx.new_uint32_t_p(), sx.new_uint32_t_p()
    done("sx_api_port_hll_get", sx.sx_api_port_hll_get(handle, port, time, stall))
    return [sx.uint32_t_p_value(time), sx.uint32_t_p_value(stall)]


def main():
    status, handle = sx.sx_api_open(None)
    done("sx_api_open", status)
    there = ports(handle)
    if len(sys.argv) == 1:
        grouped = {}
        for port in there:
            grouped.setdefault(tuple(of_port(handle, port)), []).append(port)
        print(json.dumps({"sll": of_switch(handle), "ports": [[key, grouped[key]] for key in sorted(grouped)]}))
        return
    wanted = json.loads(sys.argv[1])
    times = dict((port, list(key)) for key, group in wanted.get("ports", []) for port in group)
    if of_switch(handle) != wanted["sll"]:
        done("sx_api_port_sll_set", sx.sx_api_port_sll_set(handle, wanted["sll"]))
    for port in there:
        time = times.get(port, wanted.get("hll"))
        if time and of_port(handle, port) != time:
            done("sx_api_port_hll_set", sx.sx_api_port_hll_set(handle, port, time[0], time[1]))


main()
"""
"""Without an argument it prints the lifetimes; its argument are those to set. Python 2 and 3 run it."""


def run(argument: str = "") -> str:
    """A shell command: the program in the container."""
    command = f"printf %s {shlex.quote(PROGRAM)} | docker exec -i syncd python -"
    return f"{command} {shlex.quote(argument)}" if argument else command


def ages(text: str) -> bool:
    """Whether frames that wait are discarded, from what the program printed.

    Raises:
        ValueError, LookupError, TypeError: it printed something else.
    """
    found = json.loads(text.strip().splitlines()[-1])
    times = [int(time) for (time, _), _ in found["ports"]]
    return min([int(found["sll"]), *times]) < ENDLESS_US


def back(text: str) -> str:
    """A shell command: sets the lifetimes that the program printed."""
    return run(text.strip().splitlines()[-1])
