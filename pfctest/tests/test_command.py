"""The command on a cable: what comes out at its other end."""
from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest

from pfctest.frame import GlobalPauseFrame, PfcFrame, decode, encode, pfc_frame
from pfctest.tests.bench import received

STATIONS_OWN = "02:00:00:00:00:0a"


@pytest.mark.parametrize("options, pauses, count", [
    (["-d", "near", "--p3", "--q3=65535"], {3: 65535}, 1),
    (["--device=near", "--p0", "--p7", "--q0=1", "--q7=300", "--iteration=5"], {0: 1, 7: 300}, 5),
    (["-d", "near", "--p3", "--q3", "100", "-i", "300"], {3: 100}, 300),
    (["-d", "near", "--p4", "--q4=0"], {4: 0}, 1),
    (["-d", "near", "--p4", "-i", "2"], {4: 0}, 2),
    (["-d", "near", *(f"--p{n}" for n in range(8)), *(f"--q{n}={n}" for n in range(8))], {n: n for n in range(8)}, 1),
], ids=str)
def test_documented_invocations_send_the_documented_frames(bench, options, pauses, count):
    status, output, errors, frames = bench.run(*options)
    assert (status, errors) == (0, ""), output
    assert frames == [encode(pfc_frame(bench.mac(), pauses))] * count
    assert f"{count} frames sent from near" in output


def test_a_time_without_its_class_is_sent_as_given(bench):
    frame, = bench.run("-d", "near", "--p3", "--q3=7", "--q5=9")[3]
    assert decode(frame) == PfcFrame(bench.mac(), 8, (0, 0, 0, 7, 0, 9, 0, 0))


@pytest.mark.parametrize("options, expected", [
    (["--priority", "3,4"], lambda mac: encode(pfc_frame(mac, {3: 0xFFFF, 4: 0xFFFF}))),
    (["--priority", "3", "--quanta", "0x10"], lambda mac: encode(pfc_frame(mac, {3: 16}))),
    (["--priority", "3,4", "--q4=5", "--quanta=9"], lambda mac: encode(pfc_frame(mac, {3: 9, 4: 5}))),
    (["--priority", "3,4", "--release"], lambda mac: encode(pfc_frame(mac, {3: 0, 4: 0}))),
    (["--global"], lambda mac: encode(GlobalPauseFrame(mac, 0xFFFF))),
    (["--global", "--quanta", "77"], lambda mac: encode(GlobalPauseFrame(mac, 77))),
    (["--global", "--release"], lambda mac: encode(GlobalPauseFrame(mac, 0))),
    (["--priority", "3", "--source-mac", STATIONS_OWN], lambda _: encode(pfc_frame(STATIONS_OWN, {3: 0xFFFF}))),
    (["--priority", "3", "--raw-source", "00:00:00:00:00:00"],
     lambda _: encode(pfc_frame("00:00:00:00:00:00", {3: 0xFFFF}))),
    (["--priority", "3", "--raw-destination", "01:80:c2:00:00:02"],
     lambda mac: encode(PfcFrame(mac, 8, (0, 0, 0, 0xFFFF, 0, 0, 0, 0), "01:80:c2:00:00:02"))),
    (["--priority", "3", "--raw-vector", "0xff08"],
     lambda mac: encode(PfcFrame(mac, 0xFF08, (0, 0, 0, 0xFFFF, 0, 0, 0, 0)))),
    (["--priority", "3", "--raw-length", "34"], lambda mac: encode(pfc_frame(mac, {3: 0xFFFF}))[:34]),
    (["--priority", "3", "--raw-length", "100"], lambda mac: encode(pfc_frame(mac, {3: 0xFFFF})).ljust(100, b"\0")),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "frame")
def test_further_frames(bench, options, expected):
    status, _, errors, frames = bench.run("-d", "near", *options)
    assert (status, errors, frames) == (0, "", [expected(bench.mac())])


def test_a_storm_ends_with_quanta_0(bench):
    status, said, frames = bench.storm("-d", "near", "--priority", "3", "--duration", "0.2", "--max-open", "100")
    storm, release = (encode(pfc_frame(bench.mac(), {3: quanta})) for quanta in (0xFFFF, 0))
    assert status == 0 and said["ended_by"] == "duration" and said["released"]
    assert frames == [storm] * said["frames"] + [release] * 3
    assert said["asked"]["rate_fps"] == pytest.approx(596.05, abs=0.01), "veth says 10G; two frames in 3.355 ms"
    assert 0 <= said["open_share"] <= 1 and said["seen_at"] == "sender"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_storm_that_is_stopped_ends_with_quanta_0(bench, number):
    with bench.start("-d", "near", "--p3", "--q3=65535", "--duration", "60", "--max-open", "100", "--json") as process:
        process.send_signal(number)
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 0 and f'"ended_by": "{number.name}"' in output, errors
    assert bench.receiver.data()[-3:] == [encode(pfc_frame(bench.mac(), {3: 0}))] * 3


def test_a_rate_that_leaves_the_queue_open_fails(bench):
    status, said, _ = bench.storm("-d", "near", "--priority", "3", "--duration", "0.3", "--rate", "50")
    assert status == 1
    assert said["open_share"] > 0.7 and said["max_open_share"] == 0.01, "20 ms apart, each pauses 3.355 ms"


def test_one_process_sends_from_many_interfaces(bench):
    names = [f"many{number}" for number in range(32)]
    bench.place.add_cable(*((name, f"{name}x") for name in names))
    with bench.place.receiving("many0x") as first, bench.place.receiving("many31x") as last:
        status, said, _ = bench.storm("-d", ",".join(names), "--priority=3", "--duration=0.5", "--max-open=100")
        found = {name: receiver.data() for name, receiver in (("many0", first), ("many31", last))}
    assert status == 0 and {each["frames"] for each in said["interfaces"]} == {said["frames"] // 32}
    for name, frames in found.items():
        storm, release = (encode(pfc_frame(bench.mac(name), {3: quanta})) for quanta in (0xFFFF, 0))
        assert frames == [storm] * (said["frames"] // 32) + [release] * 3


def test_workers_share_the_interfaces_and_die_with_their_parent(bench):
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one CPU has one worker")
    bench.place.add_cable(("second", "secondx"))
    with bench.place.receiving("secondx") as second:
        storm = ("-d", "near,second", "--priority=3", "--duration=60", "--workers=2", "--max-open=100")
        with bench.start(*storm) as process:
            second.take(5)
            process.terminate()
            output, errors = process.communicate(timeout=30)
        assert process.returncode == 0 and "frames sent from near, second" in output, errors
        for receiver, name in ((bench.receiver, "near"), (second, "second")):
            assert receiver.data()[-3:] == [encode(pfc_frame(bench.mac(name), {3: 0}))] * 3
        with bench.start(*storm) as process:
            second.take(5)  # the other worker is there too
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            assert len(children) == 2
            process.kill()
        for child in children:
            gone(int(child))
    bench.receiver.frames()


def test_a_worker_that_fails_ends_the_others_at_once(bench):
    """Those before it too."""
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one CPU has one worker")
    bench.place.add_cable(("loses", "losesx"))
    with bench.place.receiving("losesx") as other:
        with bench.start("-d", "near,loses", "--priority=3", "--duration=60", "--workers=2") as process:
            other.take(5)
            bench.place.run("ip", "link", "set", "dev", "loses", "down")
            began_s = time.monotonic()
            _, errors = process.communicate(timeout=70)
    assert time.monotonic() - began_s < 30
    assert process.returncode == 2 and errors == "error: interface loses went down while frames were sent\n"
    assert bench.receiver.data()[-3:] == [encode(pfc_frame(bench.mac(), {3: 0}))] * 3


def gone(pid):
    """Waits until a process is no more."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} has outlived its parent")


def test_a_number_of_frames_as_fast_as_it_goes_is_exact(bench):
    said, frames = bench.storm("-d", "near", "--p3", "--q3=9", "-i", "301")[1:]
    assert len(frames) == said["interfaces"][0]["frames"] == 301
    assert len(bench.run("-d", "near", "--p3", "--q3=9", "-i", "20", "--rate", "5000")[3]) == 20


def test_rate_max(bench):
    bench.place.add_cable(("fast", "fastx"))
    _, said, _ = bench.storm("-d", "fast", "--priority=3", "--duration=0.5", "--rate=max", "--speed=800G")
    assert 0 <= said["open_share"] <= 1
    assert received("fastx", bench.place) == said["frames"] + 3 > 1000
    assert said["interfaces"][0]["frames"] == said["frames"]
    assert said["scheduling"] != "SCHED_FIFO"


def test_dry_run_sends_nothing_and_pcap_keeps_each_kind(bench, tmp_path):
    file = tmp_path / "frames.pcap"
    status, output, _, frames = bench.run("-d", "near", "--priority=3", "--duration=9", "--dry-run", "--pcap", file)
    assert (status, frames) == (0, []) and "each frame pauses for 3355.39 us" in output
    content = file.read_bytes()
    assert content.endswith(encode(pfc_frame(bench.mac(), {3: 0}))) and len(content) == 24 + 2 * (16 + 60)
    alone = bench.run("-d", "elsewhere", "--priority=3", "--dry-run", "--source-mac", STATIONS_OWN, "--speed=100G")
    assert alone[0] == 0 and "335.54 us" in alone[1], "no interface is needed when all is given"


def test_the_interface_of_the_default_route_is_refused(bench):
    bench.place.add_cable(("uplink", "uplinkx"))
    bench.place.run("ip", "route", "add", "default", "dev", "uplink")
    try:
        status, _, errors, _ = bench.run("-d", "uplink", "--priority", "3")
        assert status == 2
        assert errors == ("error: interface uplink has a default route, and pausing its peer may cut this machine off: "
                          "expected another one, or --force\n")
        assert bench.run("-d", "uplink", "--priority", "3", "--force")[0] == 0
        assert bench.run("-d", "near", "--priority", "3")[0] == 0
    finally:
        bench.place.run("ip", "route", "del", "default", "dev", "uplink")


def test_that_capability_is_all_it_needs(bench):
    bench.receiver.frames()
    done = bench.place.run("setpriv", "--bounding-set=-all,+net_raw", "--inh-caps=-all",
                           *bench.place.python("pfctest", "-d", "near", "--priority=3", "--duration=0.5", "--json",
                                               "--max-open=100"), check=False)
    assert done.returncode == 0 and '"scheduling": "ordinary"' in done.stdout, done.stderr
    assert len(bench.receiver.data()) > 3


def test_without_the_capability_it_says_so(bench):
    bench.receiver.frames()
    done = bench.place.run("setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw",
                           *bench.place.python("pfctest", "-d", "near", "--p3"), check=False)
    assert done.returncode == 2 and bench.receiver.data() == []
    assert done.stderr == ("error: sending raw frames needs the capability CAP_NET_RAW: run pfctest as root (sudo), or "
                           "give it that one capability\n")


def test_interfaces_that_cannot_be_used(bench):
    bench.place.add_cable(("shut", "shutx"))
    bench.place.pull("shutx", "shut")
    for name, words in (("shutx", "is down: bring it up first"), ("shut", "is up but has no link"),
                        ("lo", "is no Ethernet interface"), ("nothere", "does not exist: this machine has far, "),
                        ("much-too-long-a-name", "is no interface name")):
        status, _, errors, _ = bench.run("-d", name, "--p3")
        assert status == 2 and words in errors and errors.count("\n") == 1, errors
    for name in ("shutx", "shut"):
        assert bench.run("-d", name, "--p3", "--dry-run")[0] == 0, "nothing is sent"


def test_an_interface_that_goes_down_ends_the_storm_and_the_others_are_released(bench):
    bench.place.add_cable(("fails", "failsx"))
    with bench.start("-d", "near,fails", "--priority", "3", "--duration", "60") as process:
        bench.place.run("ip", "link", "set", "dev", "fails", "down")
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 2 and errors == "error: interface fails went down while frames were sent\n"
    assert bench.receiver.data()[-3:] == [encode(pfc_frame(bench.mac(), {3: 0}))] * 3


@pytest.mark.parametrize("names", ["near,gone", "gone,near"])
def test_an_interface_that_is_removed_ends_the_storm_and_the_others_are_released(bench, names):
    bench.place.add_cable(("gone", "gonex"))
    with bench.start("-d", names, "--priority", "3", "--duration", "60") as process:
        bench.place.run("ip", "link", "del", "dev", "gone")
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 2 and errors.startswith("error: interface gone w") and errors.count("\n") == 1, errors
    assert bench.receiver.data()[-3:] == [encode(pfc_frame(bench.mac(), {3: 0}))] * 3


def test_an_interface_without_a_link_does_not_silence_the_others(bench):
    bench.place.add_cable(("quiet", "quietx"))
    with bench.start("-d", "quiet,near", "--priority", "3", "--duration", "60", "--max-open=100") as process:
        bench.place.run("ip", "link", "set", "dev", "quietx", "down")
        bench.receiver.frames()
        storm = [data for _, data in bench.receiver.take(50)]
        process.terminate()
        output, errors = process.communicate(timeout=30)
    assert storm == [encode(pfc_frame(bench.mac(), {3: 0xFFFF}))] * len(storm)
    assert bench.receiver.data()[-3:] == [encode(pfc_frame(bench.mac(), {3: 0}))] * 3
    assert "times the driver did not take every frame" in output and "ended by SIGTERM" in output
    quiet, near = map(int, re.search(r"^quiet took (\d+) frames?, near took (\d+) frames$", output, re.M).groups())
    assert quiet < near and f"{quiet + near} frames sent from quiet, near" in output
    assert "frames/s on average of the interfaces for" in output or not quiet
    assert process.returncode == 2 and errors == (
        "error: interface quiet took no quanta-0 frame for a second: what was paused opens when its pause runs out\n")


def test_a_fixed_number_of_frames_ends_without_a_link(bench):
    bench.place.add_cable(("late", "latex"))
    with bench.start("-d", "near,late", "--priority", "3", "-i", "100000", "--rate", "1000") as process:
        bench.place.run("ip", "link", "set", "dev", "latex", "down")
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 2 and errors == (
        "error: interface late took no frame for a second: expected one that has a link\n")


def test_frames_that_pause_nothing_are_not_judged(bench):
    status, said, frames = bench.storm("-d", "near", "--priority=3", "--raw-vector=0", "--duration=0.5", "--rate=100")
    assert (status, said["open_share"], said["pause_s"]) == (0, None, None) and len(frames) > 1
    words = ("--raw-opcode=0x0102", "--raw-destination=02:00:00:00:00:01")
    status, output, _, _ = bench.run("-d", "near", "--priority=3", *words, "--duration=0.5", "--rate=100")
    assert status == 0 and "the open time is not judged: no receiver reads a pause in these frames" in output


def test_a_vector_alone_makes_a_storm(bench):
    status, said, frames = bench.storm("-d", "near", "--raw-vector=8", "--q3=65535", "--duration=0.5", "--max-open=100")
    assert status == 0 and said["released"] and said["open_share"] is not None
    assert decode(frames[0]) == decode(encode(pfc_frame(bench.mac(), {3: 0xFFFF})))


def test_the_rate_of_a_number_of_frames_is_that_between_them(bench):
    said = bench.storm("-d", "near", "--p3", "--q3=9", "-i", "3", "--rate", "2")[1]
    assert said["frames"] == 3 and said["rate_fps"] == pytest.approx(2 / said["elapsed_s"]) and said["rate_fps"] < 2.9
    assert bench.storm("-d", "near", "--p3", "--q3=9", "-i", "200")[1]["rate_fps"] is None, "all in one call"


def test_the_original_options_may_be_shortened_as_there(bench):
    assert bench.run("-V")[:3] == bench.run("--version")[:3] == (0, "pfctest 2.0\n", "")
    assert len(bench.run("--dev=near", "--p3", "--q3=9", "--iter=4")[3]) == 4
    assert "-d INTERFACE, --device INTERFACE" in bench.run("-h")[1]
