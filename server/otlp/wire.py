"""The bodies of OTLP/HTTP for logs, as protobuf and as its JSON; needs the extra `otel`, and is
imported where results are taken alone.
"""

import base64
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as RecordMessage

from server.errors import MalformedBody
from server.middleware import JSON, PROTOBUF, too_large
from server.otlp.evaluations import LogRecord, Plain

Kind = TypeVar("Kind", bound=Message)
NO_ID = b"?"
FIELD = re.compile(r"Failed to parse (\w+) field")
GZIP = 16 + zlib.MAX_WBITS


def unpacked(body: bytes, limit: int) -> bytes:
    """What a gzip body holds. Raises TooLarge, MalformedBody."""
    packed = zlib.decompressobj(GZIP)
    try:
        content = packed.decompress(body, limit + 1)
    except zlib.error as fault:
        raise MalformedBody("the body is not gzip", field="body") from fault
    if len(content) > limit:
        raise too_large(limit)
    if not packed.eof:
        raise MalformedBody("the body is not all of a gzip stream", field="body")
    return content


def read_records(body: bytes, media: str) -> list[LogRecord]:
    """The records of a request. Raises MalformedBody."""
    request = _read(ExportLogsServiceRequest(), body, media)
    return [
        _record(record)
        for resource in request.resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]


def write_answer(rejected: int, reasons: str, media: str) -> bytes:
    """The answer to a request of which so many records were refused; `partial_success` is left out
    where all were taken.
    """
    answer = ExportLogsServiceResponse()
    if rejected:
        answer.partial_success.rejected_log_records = rejected
        answer.partial_success.error_message = reasons
    return _write(answer, media)


def write_fault(detail: str, media: str) -> bytes:
    """The answer to a request that was not taken."""
    return _write(Status(message=detail), media)


def _read(message: Kind, body: bytes, media: str) -> Kind:
    try:
        if media == PROTOBUF:
            message.ParseFromString(body)
        else:
            json_format.ParseDict(_document(body), message, ignore_unknown_fields=True)
    except json_format.ParseError as fault:
        named = ".".join(FIELD.findall(str(fault)))
        raise MalformedBody(
            f"the body is no request to export logs: {named or 'it'} has a wrong form", field="body"
        ) from fault
    except (DecodeError, ValueError, TypeError, AttributeError) as fault:
        raise MalformedBody("the body is no request to export logs", field="body") from fault
    except RecursionError as fault:
        raise MalformedBody("the body is nested too deeply", field="body") from fault
    return message


def _document(body: bytes) -> dict[str, object]:
    try:
        document: object = json.loads(body, object_hook=_with_plain_ids)
    except ValueError as fault:
        raise MalformedBody("the body is not JSON", field="body") from fault
    if not isinstance(document, dict):
        raise MalformedBody("the body is no JSON object", field="body")
    return cast("dict[str, object]", document)


def _with_plain_ids(members: dict[str, object]) -> dict[str, object]:
    """OTLP writes ids in hexadecimal digits, where the JSON of protobuf has base64. What is no
    trace's id becomes one that is too short, for which its record alone is refused.
    """
    members.pop("spanId", None)
    if (written := members.get("traceId")) is not None:
        try:
            found = bytes.fromhex(written) if isinstance(written, str) else NO_ID
        except ValueError:
            found = NO_ID
        members["traceId"] = base64.b64encode(found).decode()
    return members


def _write(message: Message, media: str) -> bytes:
    if media == JSON:
        return json_format.MessageToJson(message).encode()
    return message.SerializeToString()


def _record(record: RecordMessage) -> LogRecord:
    attributes = _attributes(record.attributes)
    name = record.event_name or str(attributes.get("event.name", ""))
    return LogRecord(name, record.trace_id.hex(), attributes)


def _attributes(pairs: Iterable[KeyValue]) -> Mapping[str, Plain]:
    """Those with plain values; none of ours is a list."""
    found: dict[str, Plain] = {}
    for pair in pairs:
        match pair.value.WhichOneof("value"):
            case "string_value":
                found[pair.key] = pair.value.string_value
            case "bool_value":
                found[pair.key] = pair.value.bool_value
            case "int_value":
                found[pair.key] = pair.value.int_value
            case "double_value":
                found[pair.key] = pair.value.double_value
            case _:
                continue
    return found
