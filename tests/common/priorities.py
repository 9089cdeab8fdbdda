"""Parameters of the fixtures `enum_*_prio` and `enum_dut_portname`: read from the switch itself when tests are
collected, so that no file has to be prepared."""

from __future__ import annotations

import pytest

from tests.common.standalone import lab_of


def lossless_parameters(config: pytest.Config) -> list[str]:
    """`vtb-t0-01|3` for each lossless priority of the port under test."""
    plan = lab_of(config).port_plan
    return [f"{plan.state.device}|{priority}" for priority in plan.subject.qos.lossless]


def lossy_parameters(config: pytest.Config) -> list[str]:
    """`vtb-t0-01|0` for each other priority of the port under test that some DSCP value reaches."""
    qos = lab_of(config).port_plan.subject.qos
    return [f"{qos.device}|{priority}" for priority in qos.reachable if priority not in qos.lossless]


def port_parameters(config: pytest.Config) -> list[str]:
    """`vtb-t0-01|Ethernet8` for each port with a traffic generator behind it of the switch that is measured."""
    lab = lab_of(config)
    return [f"{lab.device}|{port}" for port in lab.ports]
