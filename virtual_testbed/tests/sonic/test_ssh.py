"""The SSH server as OpenSSH's client finds it, in both root views."""
from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from virtual_testbed.sonic import databases
from virtual_testbed.sonic.command_wrappers import MODULES
from virtual_testbed.sonic.image_programs import PROGRAMS
from virtual_testbed.sonic.ssh import Settings, SettingsError
from virtual_testbed.tests.sonic.conftest import MAC, NAME


def wait_until(condition, what, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def running(mark):
    """Processes of this machine whose command line has `mark`, our own client excepted."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in text and not text.startswith("ssh "):
            found.append(text)
    return found


def test_ready_line_says_which_view_and_why(switch):
    assert switch.ready["root_view"] in ("namespace", "environment") and switch.ready["root_view_reason"]
    if switch.settings["root_view"] == "environment":
        assert switch.ready["root_view"] == "environment"
        assert switch.ready["root_view_reason"].startswith("asked for")


def test_commands_of_the_switch(switch):
    text = switch.output("show pfc counters; cat /sys/class/net/Ethernet0/address; echo $USER; "
                         "cat /etc/sonic/sonic_version.yml")
    assert "Port Rx" in text and f"{MAC}\nadmin\n" in text and "202505" in text
    assert switch.output("command -v pfcwd").strip() == f"{switch.settings['bin']}/pfcwd"


def test_the_shell_finds_programs_of_an_image_and_no_other_of_the_host(switch):
    listed = "IFS=:; for folder in $PATH; do echo $folder; done"
    folders = switch.output(listed).split()
    found = {name for folder in folders for name in switch.output(f"ls {folder}").split()} - {"programs"}
    ordinary = set(" ".join(PROGRAMS.values()).split())
    assert found <= ordinary | {*MODULES, "sudo", "python", "python3", "redis-cli"} and len(found & ordinary) > 80
    for name in ("vi", "nano", "git", "apt", "gcc", "journalctl", "kubectl"):
        for command in (name, f"sudo {name}"):
            done = switch.run(f"{command} --version")
            assert done.returncode in (1, 127) and b"not found" in done.stderr, (command, done)


def test_python_of_a_switch_has_what_ansible_modules_of_others_import(switch):
    """sonic-mgmt's `config_facts` and `get_ip_in_range` run on the switch; a SONiC image has what they import."""
    assert switch.output("python3 -c 'import netaddr; print(netaddr.IPNetwork(\"10.0.0.1/31\").size)'") == "2\n"
    assert switch.output("python3 -c 'import natsort; print(*natsort.natsorted([\"Ethernet40\", \"Ethernet4\"]))'"
                         ).split() == ["Ethernet4", "Ethernet40"]


def test_a_switch_has_the_locale_of_an_image(switch):
    """sonic-mgmt's `extract_log` sets the locale that Python says it has: `en_US.UTF-8` for `C.UTF-8`, until 3.12."""
    said = ("import locale as l; l.setlocale(l.LC_ALL, ''); l.setlocale(l.LC_ALL, l.getlocale());"
            " print(l.getlocale()[1])")
    for locale in ("en_US.UTF-8", "C.UTF-8"):
        assert switch.output(f"LANG={locale} LC_ALL= python3 -c \"{said}\"") == "UTF-8\n", locale
    assert switch.output("LC_ALL=en_US.UTF-8 python3 -c 'print(chr(228))'") == "ä\n"


def test_python_of_a_switch_knows_what_patches_it_refuses(switch):
    """As sonic-mgmt's `get_gcu_field_operations_conf` asks for it."""
    folder = switch.output("python3 -c 'import generic_config_updater as gcu; print(gcu.__path__[0])'").strip()
    rules = json.loads(switch.output(f"cat {folder}/gcu_field_operation_validators.conf.json"))
    assert switch.settings["hwsku"] in rules["helper_data"]["rdma_config_update_validator"]["broadcom_asics"]["th"]
    validator = rules["tables"]["PFC_WD"]["validator_data"]["rdma_config_update_validator"]
    assert "th" in validator["PFCWD enable/disable"]["platforms"]


def test_redis_client_reaches_the_switchs_databases(switch):
    for address in ("", "-s /var/run/redis/redis.sock", "-h 127.0.0.1 -p 6379"):
        found = switch.output(f"redis-cli {address} -n 4 hget 'DEVICE_METADATA|localhost' hwsku").strip()
        assert found == switch.settings["hwsku"], address


def test_files_of_the_databases(switch):
    if switch.ready["root_view"] != "namespace":
        pytest.skip("without a root view /var/run is the host's")
    found = json.loads(switch.output("cat /var/run/redis/sonic-db/database_config.json"))
    assert found["DATABASES"]["STATE_DB"] == {"id": 6, "separator": "|", "instance": "redis"}
    assert found["INSTANCES"]["redis"]["unix_socket_path"] == "/var/run/redis/redis.sock"


def test_exit_status_signals_and_streams(switch):
    done = switch.run("echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")
    assert switch.run("no-such-command").returncode == 127
    assert switch.run("kill -TERM $$").returncode == 255


def test_input_and_output_are_binary_clean(switch):
    data = bytes(range(256)) * 20000  # 5 MB
    assert hashlib.sha256(switch.run("cat", stdin=data).stdout).digest() == hashlib.sha256(data).digest()
    assert switch.run("wc -c", stdin=data).stdout.strip() == str(len(data)).encode()
    assert switch.run("head -c 3", stdin=data).stdout == data[:3]


def test_the_environment_is_the_switchs(switch):
    values = dict(line.split("=", 1) for line in switch.output("env").splitlines() if "=" in line)
    assert values["USER"] == values["LOGNAME"] == "admin" and values["PATH"].split(":")[0] == switch.settings["bin"]
    assert values["HOME"].endswith("/home/admin") and values["LANG"] == "C.UTF-8"
    assert switch.output("pwd").strip() == values["HOME"]


def test_root_privileges_come_with_sudo(switch):
    done = switch.run("pfcwd stop")
    assert done.returncode == 1 and done.stderr == b"Root privileges are required for this operation\n"
    assert switch.run("sudo pfcwd stop").returncode == 0
    assert switch.output("sudo -n true; echo $?; sudo -H -S -n -u root sh -c 'echo $USER'") == "0\nroot\n"
    if switch.ready["root_view"] == "namespace":
        assert switch.output("id -u; sudo id -u; sudo id -un; echo ~admin ~root; hostname").split() == [
            "1000", "0", "root", "/home/admin", "/root", NAME]


def test_commands_reach_the_agent(switch):
    switch.output("sudo config interface shutdown Ethernet0")
    assert switch.agent.apply_configuration() is True
    assert switch.network.configs[-1].ports["Ethernet0"].admin_up is False
    switch.output("sudo config interface startup Ethernet0")
    switch.agent.apply_configuration()


def test_sys_class_net_follows_the_databases(switch):
    switch.network.set_link("Ethernet4", False)
    switch.agent.publish_counters()
    command = "cat /sys/class/net/Ethernet4/operstate /sys/class/net/Ethernet4/carrier /sys/class/net/Ethernet4/speed"
    assert switch.output(command).split() == ["down", "0", "100000"]
    switch.network.set_link("Ethernet4", True)
    switch.agent.publish_counters()
    assert switch.output(command).split() == ["up", "1", "100000"]


def test_files_of_the_switch_are_written_and_the_hosts_not(switch):
    before = os.path.lexists("/etc/sonic"), os.path.lexists("/etc/host-not")
    switch.output("sudo config save -y; touch /etc/sonic/extra; ls /etc/sonic; sudo touch /etc/host-not; exit 0")
    assert (switch.root / "etc/sonic/config_db.json").exists() and (switch.root / "etc/sonic/extra").exists()
    assert (os.path.lexists("/etc/sonic"), os.path.lexists("/etc/host-not")) == before


def test_a_process_group_ends_with_its_channel(switch):
    mark = f"86400.{os.getpid()}"
    client = subprocess.Popen(switch.ssh(f"sleep {mark} & sleep {mark}"), stdin=subprocess.PIPE)
    wait_until(lambda: len(running(f"sleep {mark}")) >= 2, "the command to start")
    client.kill()
    client.wait()
    client.stdin.close()
    wait_until(lambda: not running(f"sleep {mark}"), "the process group to end")


def test_background_processes_end_with_a_finished_command(switch):
    mark = f"86401.{os.getpid()}"
    switch.output(f"sleep {mark} > /dev/null 2>&1 & echo started")
    wait_until(lambda: not running(f"sleep {mark}"), "the background process to end")


def test_a_shell_on_a_terminal(switch):
    master, slave = pty.openpty()
    client = subprocess.Popen(["ssh", "-tt", *switch.ssh()[1:]], stdin=slave, stdout=slave, stderr=slave,
                              start_new_session=True)
    os.close(slave)
    seen = b""

    def read_until(text):
        nonlocal seen
        deadline = time.monotonic() + 20
        while text not in seen:
            assert time.monotonic() < deadline, seen
            if select.select([master], [], [], 0.1)[0]:
                seen += os.read(master, 65536)
        seen = seen.split(text, 1)[1]

    read_until(f"admin@{NAME}".encode())
    os.write(master, b"show pfc counters | head -1; tty; echo $TERM\r")
    read_until(b"Port Rx")
    read_until(b"/dev/pts/")
    os.write(master, f"sleep 86404.{os.getpid()}\r".encode())
    wait_until(lambda: running(f"sleep 86404.{os.getpid()}"), "the command to start")
    os.write(master, b"\x03")
    os.write(master, b"exit 5\r")
    deadline = time.monotonic() + 20
    while client.poll() is None:
        assert time.monotonic() < deadline
        if select.select([master], [], [], 0.1)[0]:
            try:
                os.read(master, 65536)
            except OSError:
                break
    assert client.wait(60) == 5
    os.close(master)


def transfer(switch, program, *words):
    subprocess.run([program, "-q", "-P", str(switch.settings["port"]), *switch.options, *words], check=True, timeout=60,
                   capture_output=True)


def test_sftp_and_scp(switch, tmp_path):
    data = os.urandom(300000)
    (tmp_path / "data").write_bytes(data)
    target = f"admin@{'127.0.0.1'}"
    transfer(switch, "scp", str(tmp_path / "data"), f"{target}:/etc/sonic/copied")
    assert (switch.root / "etc/sonic/copied").read_bytes() == data
    transfer(switch, "scp", "-O", str(tmp_path / "data"), f"{target}:by-scp")
    assert (switch.root / "home/admin/by-scp").read_bytes() == data
    transfer(switch, "scp", f"{target}:by-scp", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == data
    (tmp_path / "batch").write_text("rename by-scp renamed\nls -l renamed\nrm renamed\npwd\n")
    transfer(switch, "sftp", "-b", str(tmp_path / "batch"), target)
    assert not (switch.root / "home/admin/renamed").exists()


def test_file_transfers_cannot_write_the_host(switch, tmp_path):
    (tmp_path / "data").write_text("x")
    victim = tmp_path / "victim"
    victim.write_text("host's")
    if switch.ready["root_view"] == "namespace":
        subprocess.run(["scp", "-q", "-P", str(switch.settings["port"]), *switch.options, str(tmp_path / "data"),
                        f"admin@127.0.0.1:{victim}"], capture_output=True, timeout=60)
        assert victim.read_text() == "host's"
    subprocess.run(["scp", "-q", "-P", str(switch.settings["port"]), *switch.options, str(tmp_path / "data"),
                    "admin@127.0.0.1:/etc/host-not"], capture_output=True, timeout=60)
    assert not os.path.lexists("/etc/host-not")


def test_password_and_strangers(switch, tmp_path):
    askpass = tmp_path / "askpass"
    askpass.write_text("#!/bin/sh\necho $ANSWER\n")
    askpass.chmod(0o755)

    def login(user, answer):
        options = [*switch.options, "-o", "PreferredAuthentications=password", "-o", "NumberOfPasswordPrompts=1"]
        environment = {**os.environ, "SSH_ASKPASS": str(askpass), "SSH_ASKPASS_REQUIRE": "force", "ANSWER": answer}
        return subprocess.run(["ssh", *options, "-p", str(switch.settings["port"]), f"{user}@127.0.0.1", "echo in"],
                              env=environment, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)

    assert login("admin", "secret").stdout == b"in\n"
    assert login("admin", "wrong").returncode == 255
    assert login("root", "secret").returncode == 255
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
    options = [word.replace(str(switch.folder / "key"), str(tmp_path / "other")) for word in switch.options]
    stranger = subprocess.run(["ssh", *options, "-o", "PasswordAuthentication=no", "-p", str(switch.settings["port"]),
                               "admin@127.0.0.1", "true"], capture_output=True, timeout=60)
    assert stranger.returncode == 255


def test_many_at_once(switch):
    commands = [switch.ssh(f"echo {number}; sleep 0.1") for number in range(8)]
    clients = [subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) for command in commands]
    assert [client.communicate(timeout=60)[0].strip() for client in clients] == [b"%d" % number for number in range(8)]


def test_a_restart_keeps_port_key_and_files(switch):
    port, key = switch.settings["port"], (switch.folder / "host_key").read_bytes()
    switch.output("echo kept > ~/kept; cp ~/kept /etc/sonic/kept")
    sleep = f"sleep 86402.{os.getpid()}"
    client = subprocess.Popen(switch.ssh(sleep), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: running(sleep), "the command to start")
    assert switch.stop_server() == 0
    client.wait(60)
    wait_until(lambda: not running(sleep), "the command to end with its server")
    switch.start()
    assert switch.settings["port"] == port and (switch.folder / "host_key").read_bytes() == key
    assert switch.output("cat ~/kept /etc/sonic/kept") == "kept\nkept\n"


def test_a_killed_server_leaves_nothing(switch):
    if switch.ready["root_view"] != "namespace":
        pytest.skip("without a process namespace what daemonised outlives a killed server")
    sleep = f"sleep 86403.{os.getpid()}"
    client = subprocess.Popen(switch.ssh(f"setsid {sleep}"), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: running(sleep), "the command to start")
    switch.process.kill()
    switch.process.wait()
    switch.process.stdout.close()
    client.wait(60)
    wait_until(lambda: not running(sleep), "the command to end with its server")
    switch.start()


def test_redis_away_is_no_reason_to_refuse_a_login(switch):
    socket = Path(switch.redis.socket)
    moved = socket.rename(socket.with_name("moved"))
    try:
        done = switch.run("echo in; show pfc counters")
    finally:
        moved.rename(socket)
    assert done.returncode == 1 and done.stdout == b"in\n"
    assert re.fullmatch(r"error: no Redis answers at .*\n", done.stderr.decode())


def test_argument_file_that_cannot_be_used(tmp_path):
    path = tmp_path / "switch.json"
    with pytest.raises(SettingsError, match="switch.json cannot be read"):
        Settings.read(path)
    path.write_text("{}")
    with pytest.raises(SettingsError, match="switch.json lacks something"):
        Settings.read(path)


def test_no_host_file_of_the_user_is_written(switch):
    known = Path.home() / ".ssh/known_hosts"
    before = known.read_bytes() if known.exists() else None
    switch.output("true")
    assert (known.read_bytes() if known.exists() else None) == before
    with databases.connect(switch.redis.socket, "CONFIG_DB") as connection:
        assert connection.call("EXISTS", "DEVICE_METADATA|localhost") == 1
    assert shutil.which("ssh")
