"""`watermarkcfg`: how often periodic watermarks begin anew (sonic-utilities `scripts/watermarkcfg`)."""
from __future__ import annotations

import argparse

from virtual_testbed.sonic.commands.context import SwitchContext, run, this_switch
from virtual_testbed.sonic.databases import change_row, read_config
from virtual_testbed.sonic.telemetry_timer import DEFAULT_S, ROW, TABLE


def show_interval(switch: SwitchContext) -> None:
    """Print the interval of CONFIG_DB; the two sentences are SONiC's."""
    row = read_config(switch.config, TABLE).get(TABLE, {}).get(ROW)
    said = f"interval: {row['interval']}" if row else f"interval {DEFAULT_S}"
    print(f"\nTelemetry {said} second(s)\n")


def set_interval(switch: SwitchContext, interval_s: int) -> None:
    """Write the interval, whatever it is; 0 does nothing."""
    if interval_s:
        change_row(switch.config, TABLE, ROW, {"interval": str(interval_s)})


def parser() -> argparse.ArgumentParser:
    """Its options."""
    found = argparse.ArgumentParser(prog="watermarkcfg", description="Display the watermark counters")
    found.add_argument("-s", "--show-interval", action="store_true",
                       help="Show currently configured telemetry interval")
    found.add_argument("-c", "--config-interval", type=int, help="Set telemetry interval")
    found.add_argument("-v", "--version", action="version", version="%(prog)s 1.0")
    return found


def main() -> None:
    """The program."""
    arguments = parser().parse_args()
    if arguments.show_interval:
        show_interval(this_switch())
    elif arguments.config_interval:
        set_interval(this_switch(), arguments.config_interval)


if __name__ == "__main__":
    run(main)
