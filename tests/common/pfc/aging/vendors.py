"""By which means ASICs drop frames that are held for long, beside SONiC's PFC watchdog; how that is seen, and switched
off and on. Facts: sonic-mgmt, `disable_packet_aging`, `_set_credit_watchdog` and `modify_voq_watchdog_cisco_8000`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from . import spectrum

KIND = (
    "sed -n 's/^asic_type: *//p' /etc/sonic/sonic_version.yml | tr -d \"'\\\"\"; "
    "platform=$(sonic-db-cli CONFIG_DB HGET 'DEVICE_METADATA|localhost' platform); "
    "cat /usr/share/sonic/device/\"$platform\"/platform_asic 2>/dev/null; "
    "sonic-db-cli CONFIG_DB HGET 'DEVICE_METADATA|localhost' switch_type; true"
)
"""A shell command: prints what tells an ASIC, `broadcom broadcom-dnx voq`."""
TRIES = 10  # seconds in which orchagent hands a switch's attribute on
_WRITE_CREDIT_WATCHDOG = (
    "from swsscommon.swsscommon import DBConnector, ProducerStateTable\n"
    "ProducerStateTable(DBConnector('APPL_DB', 0, True), 'SWITCH_TABLE').set('switch', [('credit_watchdog', '{}')])"
)
_READ_CREDIT_WATCHDOG = (
    "key=$(sonic-db-cli ASIC_DB KEYS 'ASIC_STATE:SAI_OBJECT_TYPE_SWITCH:*' | head -n 1); "
    'echo "credit watchdog: $(sonic-db-cli ASIC_DB HGET "$key" SAI_SWITCH_ATTR_CREDIT_WD)"'
)
_READ_VOQ_WATCHDOG = "show platform npu global"
_VOQ_FILE = "pfc_voq_watchdog.py"
_SET_VOQ_WATCHDOG = (
    "from common import d0\nd0.set_bool_property(sdk.la_device_property_e_VOQ_WATCHDOG_ENABLED, {})\n"
)


@dataclass(frozen=True)
class Aging:
    """How an ASIC drops frames that are held for long.

    Attributes:
        key: its name in a lease.
        name: what it is called.
        asics: words of `KIND` by which the ASIC is known: all of one of these.
        read: a shell command, prints whether it is on.
        lasts: whether it is, from what was printed; raises ValueError, LookupError or TypeError for anything else.
        off: a shell command, switches it off.
        on: a shell command that brings back what `read` printed while it was on. It changes nothing where that is so
            already, and fails where it cannot.
        needs: what has to be right where `off` had no effect, for the message.
    """

    key: str
    name: str
    asics: tuple[tuple[str, ...], ...]
    read: str
    lasts: Callable[[str], bool]
    off: str
    on: Callable[[str], str]
    needs: str


def _credit_watchdog(value: int) -> str:
    """A shell command: writes it, and waits until orchagent has handed it on. Absent, it is the SDK's default, on."""
    word = "true" if value else "false"
    seen = f"{_READ_CREDIT_WATCHDOG} | grep {'-qv' if value else '-q'} 'watchdog: false'"
    write = f"python3 -c {shlex.quote(_WRITE_CREDIT_WATCHDOG.format(value))}"
    return (
        f"{write} && tries={TRIES} && until {seen}; do tries=$((tries - 1)); test $tries -gt 0 || "
        f"{{ echo 'SAI_SWITCH_ATTR_CREDIT_WD in ASIC_DB is not {word}'; exit 1; }}; sleep 1; done"
    )


def _voq_watchdog(is_on: bool) -> str:
    """A shell command: has the debug shell set it, and looks."""
    shell = shlex.quote(_SET_VOQ_WATCHDOG.format(is_on))
    seen = f"{_READ_VOQ_WATCHDOG} | grep -Eq 'voq_watchdog_enabled +: +{is_on}'"
    return (
        f"{seen} || {{ printf %s {shell} | docker exec -i syncd tee /{_VOQ_FILE} > /dev/null && "
        f"show platform npu script -s {_VOQ_FILE}; docker exec syncd rm -f /{_VOQ_FILE}; {seen}; }}"
    )


def _credit_watchdog_lasts(text: str) -> bool:
    """Absent: orchagent has not set it, and SAI's default is on."""
    found: list[str] = re.findall("^credit watchdog: *(.*)$", text, re.MULTILINE)
    return found[0].strip() != "false"


def _voq_watchdog_lasts(text: str) -> bool:
    """A chip that has none does not say a word of it."""
    if not text.strip() or "not running" in text:
        raise ValueError("the debug shell does not answer")
    return re.search(r"voq_watchdog_enabled +: +True", text) is not None


VENDORS = (
    Aging(
        "packet-aging",
        "the aging of packets of NVIDIA Spectrum",
        (("mellanox",),),
        spectrum.run(),
        spectrum.ages,
        spectrum.run(spectrum.LONGEST),
        spectrum.back,
        "a container syncd with NVIDIA's SDK for Python",
    ),
    Aging(
        "credit-watchdog",
        "the credit watchdog of Broadcom DNX",
        (("broadcom-dnx",), ("broadcom", "voq")),
        _READ_CREDIT_WATCHDOG,
        _credit_watchdog_lasts,
        _credit_watchdog(0),
        lambda text: _credit_watchdog(1),
        "an image whose orchagent knows credit_watchdog (sonic-swss#4658), on a VOQ switch",
    ),
    Aging(
        "voq-watchdog",
        "the VOQ watchdog of Cisco 8000",
        (("cisco-8000",),),
        _READ_VOQ_WATCHDOG,
        _voq_watchdog_lasts,
        _voq_watchdog(False),
        lambda text: _voq_watchdog(True),
        "the debug shell running (`show platform npu global`)",
    ),
)
"""The ASICs that drop what is held for long."""


def aging_of(kind: str) -> Aging | None:
    """What an ASIC has, from what `KIND` printed; None: nothing that is known."""
    words = set(kind.split())
    return next((one for one in VENDORS if any(words.issuperset(asic) for asic in one.asics)), None)
