"""Who may come in: the same machine by default, elsewhere whoever brings the token; and only from our own pages."""

import hmac
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from flask import Flask, Response, redirect, request

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ASSETS = (".css", ".js")  # of the files that lie beside the pages' programs, all that is served
MOST_BYTES = 1_000_000  # of one request: a form is small


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    return host in LOOPBACK


def guard(server: Flask, token: str | None, script_hashes: Callable[[], list[str]]) -> None:
    """Refuse strangers before anything else happens, and tell browsers to load and run nothing but our own.

    token  what a browser must bring once, as ?token=...; a cookie remembers it. None: only requests that name this
           machine as their host are served, so that a foreign page cannot reach in by renaming it.
    """
    server.config["MAX_CONTENT_LENGTH"] = MOST_BYTES

    @server.before_request
    def come_in() -> Any:
        try:
            host, origin = _parts(request.host)[0], request.headers.get("Origin")
            foreign = origin is not None and urlsplit(origin).netloc != request.host
        except ValueError:
            return _refused(400, "This request does not say where it comes from.")
        foreign = foreign or request.headers.get("Sec-Fetch-Site", "same-origin") in ("cross-site", "same-site")
        if token is None and not is_loopback(host):
            return _refused(403, "This dashboard serves its own machine only; start it with --host to serve others.")
        if request.method not in ("GET", "HEAD") and foreign:
            return _refused(403, "This request comes from a page of another site.")
        if token is None or _brings(token):
            return _refused(404, "There is no such file.") if _is_private() else None
        given = request.args.get("token", "")
        if not _same(given, token):
            return _refused(401, "Open the address that `raydream dashboard` printed: it ends with ?token=...")
        rest = [(name, value) for name, value in request.args.items(multi=True) if name != "token"]
        answer = redirect("/" + quote(request.path.lstrip("/")) + (f"?{urlencode(rest)}" if rest else ""))
        # Lax, not Strict: a link in a message must get in, and requests from other sites' pages still bring none.
        answer.set_cookie(_cookie(), token, httponly=True, samesite="Lax", secure=request.is_secure)
        return answer

    @server.after_request
    def protect(response: Response) -> Response:
        policy = {
            "default-src": "'self'",
            "script-src": " ".join(["'self'", *script_hashes()]),
            "style-src": "'self' 'unsafe-inline'",
            "img-src": "'self' data: blob:",
            "frame-ancestors": "'none'",
            "base-uri": "'none'",
            "form-action": "'self'",
        }
        # A page that brings its own rules (a report) keeps them.
        response.headers.setdefault("Content-Security-Policy", "; ".join(f"{k} {v}" for k, v in policy.items()))
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


def _is_private() -> bool:
    """Whether the request asks for a file that is no part of a page."""
    return "/assets/" in request.path and not request.path.endswith(ASSETS)


def _brings(token: str) -> bool:
    """Whether the request has the token: in the cookie, or, for programs, in the header."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    return _same(request.cookies.get(_cookie(), ""), token) or (scheme == "Bearer" and _same(value, token))


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def _cookie() -> str:
    """Browsers share cookies between the ports of a host."""
    return f"raydream-{_parts(request.host)[1] or 80}"


def _parts(host: str) -> tuple[str, int | None]:
    """Name and port of a Host header."""
    split = urlsplit("//" + host)
    return split.hostname or "", split.port


def _refused(status: int, sentence: str) -> Response:
    return Response(sentence + "\n", status=status, mimetype="text/plain")
