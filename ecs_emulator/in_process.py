"""Clients whose calls moto's models answer in this process.

Moto puts itself in the place of the socket: boto makes and prepares a request, and moto compares its address with those
of 200 services and lets werkzeug take the request apart again. This is half the time of a call, so that a call is
handed over here as boto prepares it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from botocore.awsrequest import AWSResponse
from botocore.endpoint import Endpoint, convert_to_response_dict
from moto.backend_index import backend_url_patterns
from moto.backends import get_backend
from moto.core.base_backend import BackendDict
from moto.core.botocore_stubber import MockRawResponse
from moto.core.request import Request
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import HTTPException

from .process import ACCOUNT, REGION, isolated_client

__all__ = ["InProcess"]

Answer = Callable[[Request, str, Any], tuple[int, Mapping[str, str], str | bytes]]


class InProcess:
    """Makes boto clients whose calls moto answers without HTTP."""

    def client(self, service: str) -> Any:
        """A client of one service."""
        client = isolated_client(service)
        if service != "s3":  # its requests are signed, and what they hold is streamed
            client._endpoint.make_request = functools.partial(_send, client._endpoint)
        return client


def _send(endpoint: Endpoint, operation: Any, prepared: Mapping[str, Any]) -> tuple[AWSResponse, dict[str, Any]]:
    """Sends one call; replaces `Endpoint.make_request` of botocore, and does not retry."""
    request, address = _request(prepared), prepared["url"]
    try:
        status, headers, body = _who_answers(address.partition("?")[0])(request, address, request.headers)
    except HTTPException as refusal:
        status, headers, body = refusal.code or 500, dict(refusal.get_headers()), refusal.get_body()
    answer = AWSResponse(address, status, headers, MockRawResponse(body))
    read = convert_to_response_dict(answer, operation)
    parser = endpoint._response_parser_factory.create_parser(operation.service_model.resolved_protocol)
    parsed = parser.parse(read, operation.output_shape)
    if status >= 300:
        endpoint._add_modeled_error_fields(read, parsed, operation, parser)
    return answer, parsed


class _Request(Request):
    from_wsgi_server = True  # boto has no use for the date in an answer, which moto writes unless a server does


def _request(prepared: Mapping[str, Any]) -> Request:
    """A call as a web server would hand it to moto."""
    address, body = urlsplit(prepared["url"]), prepared["body"]
    form = body if isinstance(body, dict) else {}
    sent = b"" if form else body.encode() if isinstance(body, str) else body
    path = f"{address.path}?{address.query}" if address.query else address.path
    named = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in prepared["headers"].items()}
    request = _Request(
        {
            **named,
            "REQUEST_METHOD": prepared["method"],
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(address.path).decode("latin-1"),
            "QUERY_STRING": address.query,
            "RAW_URI": path,
            "SERVER_NAME": address.netloc,
            "SERVER_PORT": "443",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": address.netloc,
            "CONTENT_TYPE": named.get("HTTP_CONTENT_TYPE", ""),
            "CONTENT_LENGTH": str(len(sent)),
            "wsgi.url_scheme": address.scheme,
            "wsgi.input": BytesIO(sent),
        }
    )
    if form:  # as if it were read already: a template in it takes long to quote and to unquote
        read = ImmutableMultiDict({name: str(value) for name, value in form.items()})
        vars(request).update(form=read, files=ImmutableMultiDict(), stream=BytesIO())
    return request


@functools.cache
def _who_answers(address: str) -> Answer:
    """What answers at an address in moto, which looks for it at each call."""
    for service, pattern in backend_url_patterns:
        if pattern.match(address):
            answers: Mapping[str, Answer] = _model(service).urls
            for path, answer in answers.items():
                if re.match(path, address):
                    return answer
    return lambda *_: (404, {}, "Not yet implemented")


def _model(service: Any) -> Any:
    backends = get_backend(service)
    if not isinstance(backends, BackendDict):
        return backends["global"]
    return backends[ACCOUNT][REGION if REGION in backends[ACCOUNT] else "aws"]
