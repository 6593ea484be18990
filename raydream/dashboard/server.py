"""Serving: an address to listen at, a token where others can reach it, and the end at Ctrl-C."""

import os
import secrets
import socket
import sys
from pathlib import Path

PORT = 8050


def serve(
    root: str | os.PathLike[str] = "runs",
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    page: str = "/",
    browser: bool = False,
) -> None:
    """Serve the dashboard over the run directories below `root` until Ctrl-C. Runs that it started go on.

    host     where to listen; any but this machine's own needs a token, which is printed with the address
    port     default: 8050, or the next one that is free
    page     the page whose address is printed: /, /run, /compare, /tuning, /new, /lab or /theory
    browser  whether to open that page
    """
    try:
        from raydream.dashboard.app import make_app
        from raydream.dashboard.door import Door
    except ImportError as error:
        raise RuntimeError(
            f"the dashboard needs {error.name}: install it with `pip install 'raydream[dashboard]'`."
        ) from None
    from raydream.dashboard.gate import is_loopback
    from raydream.dashboard.watching.jobs import Jobs
    from raydream.dashboard.watching.runs import Runs

    if not host.strip():
        raise ValueError("`host` must be an address to listen at, such as 127.0.0.1 or 0.0.0.0; got nothing.")
    folder = Path(root)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"`root` must be a folder of run directories; {str(folder)!r} is a file.")
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    listener = _listener(host, port)
    number = listener.getsockname()[1]
    app = make_app(Jobs(Runs(folder)), token)
    shown = host if host not in ("0.0.0.0", "::") else socket.gethostname()
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{number}{page}" + (f"?token={token}" if token else "")
    print(
        f"raydream dashboard over {folder}{' (new, and empty)' if new else ''}: {address}\nCtrl-C ends it; runs go on.",
        file=sys.stderr,
        flush=True,
    )
    server = Door(app.server, listener)
    if browser:
        import webbrowser

        webbrowser.open(address)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
        listener.close()


def _listener(host: str, port: int | None) -> socket.socket:
    """A socket that listens: at the port, or at the first free one from 8050 on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in range(PORT, PORT + 50) if port is None else [port]:
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(64)
            return listener
        except (OSError, OverflowError) as error:
            listener.close()
            refusal = error
    where = f"{host}:{port}" if port is not None else f"{host}, ports {PORT} to {PORT + 49}"
    raise OSError(f"`port` must be free; {where} cannot be listened at ({refusal}). Choose another with --port.")
