"""The Redis client and CONFIG_DB's forms."""
from __future__ import annotations

import contextlib
import fcntl
import queue
import socket
import termios
import threading
import time

import pytest

from virtual_testbed.sonic import databases
from virtual_testbed.sonic.resp import Connection, DatabaseError


def test_replies_of_all_kinds(redis):
    with Connection(redis.socket) as connection:
        assert connection.call("SET", "a", "ü\r\n$3") == "OK"
        assert connection.call("GET", "a") == "ü\r\n$3"
        assert connection.call("GET", "nothing") is None
        assert connection.call("INCR", "n") == 1
        assert connection.call("LRANGE", "none", 0, -1) == []
        assert connection.transaction([("SET", "b", 2), ("GET", "b")]) == ["OK", "2"]


def test_an_error_reply_raises_and_leaves_the_connection_usable(redis):
    with Connection(redis.socket) as connection:
        with pytest.raises(DatabaseError, match="wrong number of arguments"):
            connection.batch([("GET",), ("SET", "a", "1")])
        assert connection.call("GET", "a") == "1"


def test_no_redis_is_one_sentence(tmp_path):
    with pytest.raises(DatabaseError, match="no Redis answers at .*missing"):
        Connection(str(tmp_path / "missing"))


@pytest.fixture
def slow_redis(tmp_path):
    """The path of a server that says what it is told to, whatever is asked, a piece once the one before was read; and
    what tells it."""
    path, pieces = str(tmp_path / "slow.sock"), queue.Queue()

    def serve():
        with listener.accept()[0] as client, contextlib.suppress(OSError):  # the connection may be gone
            while piece := pieces.get():
                client.sendall(piece)
                while fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4)) != bytes(4):  # not all of it was read
                    time.sleep(0.001)
            client.recv(1 << 10)  # the question

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        server = threading.Thread(target=serve)
        server.start()
        yield path, pieces.put
        pieces.put(b"")
        server.join()


def test_a_reply_in_pieces(slow_redis):
    path, say = slow_redis
    with Connection(path) as connection:
        for piece in (b"*2\r\n$3\r\n", b"a\r", b"b\r\n:1", b"2\r\n"):
            say(piece)
        assert connection.call("GET", "a") == ["a\rb", 12]


def test_a_reply_that_does_not_come_in_time_is_not_taken_for_the_next_one(slow_redis):
    path, say = slow_redis
    with Connection(path, timeout_s=0.05) as connection:
        with pytest.raises(DatabaseError, match="is lost: timed out"):
            connection.call("GET", "a")
        say(b"$1\r\na\r\n")
        for _ in range(2):
            with pytest.raises(DatabaseError, match="is lost"):
                connection.call("GET", "b")


@pytest.mark.parametrize("said, reason", [(b"$9\r\nabc", "it has ended"), (b"?\r\n", "Protocol error")])
def test_what_is_no_whole_reply_loses_the_connection(slow_redis, said, reason):
    path, say = slow_redis
    with Connection(path) as connection:
        say(said)
        say(b"")
        with pytest.raises(DatabaseError, match=f"is lost: {reason}"):
            connection.call("GET", "a")


def test_natural_order():
    names = ["Ethernet40", "Ethernet4", "global", "Ethernet124", "Ethernet0"]
    assert sorted(names, key=databases.natural) == ["Ethernet0", "Ethernet4", "Ethernet40", "Ethernet124", "global"]


def test_config_goes_in_and_comes_out_in_order(config_db):
    config = {"PORT": {"Ethernet10": {"speed": "1"}, "Ethernet9": {"lanes": ["1", "2"]}}, "LOOP": {"x|10.0.0.1/32": {}}}
    assert databases.write_config(config_db, config) is True
    assert config_db.call("HGETALL", "PORT|Ethernet9") == ["lanes@", "1,2"]
    assert config_db.call("HGETALL", "LOOP|x|10.0.0.1/32") == ["NULL", "NULL"]
    read = databases.read_config(config_db)
    assert read == config
    assert list(read) == ["LOOP", "PORT"] and list(read["PORT"]) == ["Ethernet9", "Ethernet10"]
    assert databases.write_config(config_db, config) is False


def test_only_differences_are_written():
    old = {"T": {"same": {"a": "1"}, "gone": {"a": "1"}, "less": {"a": "1", "b": "2"}, "other": {"a": "1"}}}
    new = {"T": {"same": {"a": "1"}, "less": {"a": "1"}, "other": {"a": "2"}, "new": {}}}
    assert databases.commands_to_reach(old, new) == [
        ("DEL", "T|gone"), ("HDEL", "T|less", "b"), ("HSET", "T|other", "a", "2"), ("HSET", "T|new", "NULL", "NULL")]


@pytest.mark.parametrize("data, message", [
    ([], "expected an object of tables, found list"), ({"PORT": "x"}, "table PORT must be an object of rows"),
    ({"PORT": {"Ethernet0": 1}}, "PORT.Ethernet0 must be an object of fields"),
    ({"PORT": {"Ethernet0": {"a": {"b": "c"}}}}, "field a must be text"),
    ({"PORT": {"Ethernet0": {"a": None}}}, "field a must be text"),
])
def test_what_is_no_configuration_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        databases.checked_config(data, "file.json")


def test_numbers_and_booleans_become_text():
    data = {"T": {"k": {"number": 5, "flag": True, "list": [1, "2"]}}, "EMPTY": None}
    assert databases.checked_config(data, "x") == {"T": {"k": {"number": "5", "flag": "true", "list": ["1", "2"]}}}
