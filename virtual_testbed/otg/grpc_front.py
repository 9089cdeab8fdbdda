"""OTG over gRPC (service `otg.Openapi`): the operations that `http_front` serves, on the same thread, one at a time.

Messages are translated to and from the JSON data that the service works on, so both transports mean the same. The
message definitions are those of the installed snappi: its one module of them is loaded, its client is not.
"""
from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import json_format, message_factory
from google.protobuf.message import DecodeError

from virtual_testbed.otg.errors import BAD_REQUEST, INTERNAL, NOT_FOUND, NOT_IMPLEMENTED, OtgError, internal_error
from virtual_testbed.otg.service import OtgService

Perform = Callable[[Callable[[], Any], bool], Any]
"""Runs an operation after those that came before it, and waits for it; the flag: it changes the switches."""
SERVICE = "Openapi"
CHANGING = ("set_config", "append_config", "delete_config", "update_config", "set_control_state")
LARGEST_REQUEST = 64 * 2**20
CHUNK = 2**20  # of a streamed answer; clients take 4 MiB at a time
LARGEST_DETAILS = 6000  # bytes of an error; beyond 8 KiB of trailing metadata a client sees no error text at all
WAITING_REQUESTS = 4  # threads; requests are computed one at a time, so more would only wait
END_S = 1.0
STATUS = {BAD_REQUEST: grpc.StatusCode.INVALID_ARGUMENT, NOT_FOUND: grpc.StatusCode.NOT_FOUND,
          NOT_IMPLEMENTED: grpc.StatusCode.UNIMPLEMENTED, INTERNAL: grpc.StatusCode.INTERNAL}
LOG = logging.getLogger(__name__)


class GrpcFront:
    """The gRPC methods of a service.

    Args:
        service: the OTG operations.
        perform: runs them.
    """

    def __init__(self, service: OtgService, perform: Perform) -> None:
        self._service = service
        self._perform = perform
        self._methods = _definitions().DESCRIPTOR.services_by_name[SERVICE]

    def start(self, address: str) -> tuple[Any, int]:
        """Serves on `host:port`, 0 for a free port.

        Returns:
            The server, which `stop` ends, and its port.

        Raises:
            OSError: the address cannot be used.
        """
        server = grpc.server(ThreadPoolExecutor(WAITING_REQUESTS, "grpc"), options=[
            ("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", LARGEST_REQUEST),
            ("grpc.max_send_message_length", -1),
            ("grpc.http2.bdp_probe", 0)])  # its pings end the connection of a client that is silent for a minute
        handlers = {method.name: self._handler(method) for method in self._methods.methods}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(self._methods.full_name, handlers),))
        try:
            port = server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(str(error)) from error
        server.start()
        return server, port

    def _handler(self, method: Any) -> Any:
        """One method: both directions whole, or (`stream...`) one of them in pieces."""
        whole = self._methods.methods_by_name[method.name.removeprefix("stream")]
        operation = getattr(self._service, _snake(whole.name))
        read = _reader(whole, method.client_streaming)
        write = _writer(whole, method.server_streaming)
        changes = _snake(whole.name) in CHANGING

        def handle(request: Any, context: Any) -> Any:
            try:
                body = read(request)
                return write(self._perform((lambda: operation(*body)), changes))
            except OtgError as error:
                found = error
            except Exception as error:  # the client must learn of it, and the log keeps the details
                LOG.exception("%s failed", method.name)
                found = internal_error(f"{method.name}: {type(error).__name__}: {error}")
            context.abort(*_refusal(found))

        make = (grpc.stream_unary_rpc_method_handler if method.client_streaming else
                grpc.unary_stream_rpc_method_handler if method.server_streaming else
                grpc.unary_unary_rpc_method_handler)
        return make(
            handle, request_deserializer=_class(method.input_type).FromString,
            response_serializer=_class(method.output_type).SerializeToString)


def end(server: Any) -> None:
    """Ends a server that `GrpcFront.start` began; requests under way get a moment."""
    server.stop(END_S).wait()


def _definitions() -> Any:
    """The module of OTG's protobuf messages, without the rest of snappi, which is large."""
    package = importlib.util.find_spec("snappi")
    if package is None or not package.submodule_search_locations:
        raise ImportError("the package snappi is not installed: OTG's gRPC messages are defined in it")
    path = Path(package.submodule_search_locations[0], "otg_pb2.py")
    spec = importlib.util.spec_from_file_location(f"{__name__}.otg_pb2", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _class(descriptor: Any) -> Any:
    return message_factory.GetMessageClass(descriptor)


def _snake(name: str) -> str:
    """`SetConfig` -> `set_config`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).removeprefix("_")


def _reader(whole: Any, streamed: bool) -> Callable[[Any], tuple[Any, ...]]:
    """What makes an operation's arguments of a request: none, or the one message that is in it."""
    if not whole.input_type.fields:
        return lambda request: ()
    field = whole.input_type.fields[0]
    if streamed:
        return lambda pieces: (_plain(_joined(pieces, field.message_type)),)

    def read(request: Any) -> tuple[Any, ...]:
        if not request.HasField(field.name):
            raise OtgError([f"request: {field.name} missing"])
        return (_plain(getattr(request, field.name)),)
    return read


def _plain(message: Any) -> Any:
    """A message as JSON data; 64-bit integers are strings, as JSON's mapping of protobuf has them."""
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def _joined(pieces: Iterable[Any], kind: Any) -> Any:
    """A message that came in pieces."""
    data = bytearray()
    for piece in pieces:
        data += piece.datum
        if len(data) > LARGEST_REQUEST:
            raise OtgError([f"request: more than {LARGEST_REQUEST} bytes"])
    try:
        return _class(kind).FromString(bytes(data))
    except DecodeError as error:
        raise OtgError([f"request: its pieces are no {kind.name}: {error}"]) from None


def _writer(whole: Any, streamed: bool) -> Callable[[Any], Any]:
    """What makes an answer of an operation's result: a message around it, or its bytes in pieces."""
    field = whole.output_type.fields[0]
    if not streamed:
        wrapper = _class(whole.output_type)
        if field.message_type is None:
            return lambda result: wrapper(**{field.name: result})
        return lambda result: json_format.ParseDict({field.name: result}, wrapper())
    piece = _class(whole.containing_service.file.message_types_by_name["Data"])

    def write(result: Any) -> Iterator[Any]:
        data = result if field.message_type is None else json_format.ParseDict(
            result, _class(field.message_type)()).SerializeToString()
        return (piece(datum=data[at:at + CHUNK], chunk_size=CHUNK) for at in range(0, len(data), CHUNK))
    return write


def _refusal(error: OtgError) -> tuple[Any, str]:
    """Status and details of an error; OTG wants its `Error` message there, with gRPC's number of the status.

    As many of the errors are sent as fit, the first in any case.
    """
    status = STATUS.get(error.code, grpc.StatusCode.INTERNAL)
    sent = [error.errors[0][:LARGEST_DETAILS]]
    left = LARGEST_DETAILS - len(json.dumps(sent[0]))
    for sentence in error.errors[1:]:
        left -= len(json.dumps(sentence))
        if left < 0:
            sent.append(f"and {len(error.errors) - len(sent)} more")
            break
        sent.append(sentence)
    return status, json.dumps({"code": status.value[0], "kind": error.kind, "errors": sent})
