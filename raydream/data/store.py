"""The known data sets: what they are, where their files are looked for, and how a missing one comes."""

import hashlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from raydream.data.libsvm import unpack
from raydream.feedback import tell

ADDRESS = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_ENDINGS = ("", ".bz2", ".xz", ".gz")


@dataclass(frozen=True)
class DataSet:
    """A published file: its shape, how many labels are +1, the sum of its plain bytes, its ending at ADDRESS.

    What is not known is None: without a sum, a file is read where a user has put it, and never downloaded.
    """

    rows: int
    positives: int | None
    features: int
    sha256: str | None
    ending: str = ""


KNOWN = {
    "a1a": DataSet(1605, 395, 123, "eb54c45f1bdb51286f803dd092eb8202b44637a858fc6c4e533a2d64a0d94b4e"),
    "a9a": DataSet(32561, 7841, 123, "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906"),
    "a9a.t": DataSet(16281, 3846, 123, "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9"),
    "cod-rna": DataSet(59535, None, 8, None),
    "cod-rna.t": DataSet(271617, None, 8, None),
    "ijcnn1": DataSet(49990, 4853, 22, "16506cad788cf7c9607454150ed1994788204bac2ff4c9cb3b320036b6950d3f", ".bz2"),
    "ijcnn1.t": DataSet(91701, 8712, 22, "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8", ".bz2"),
    "mushrooms": DataSet(8124, 4208, 112, "f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538"),
    "w8a": DataSet(49749, 1479, 300, "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2"),
    "w8a.t": DataSet(14951, 454, 300, "618929ecb01bebb841daec4cae4aa07b97832d29b08652452775598929547fde"),
}


def fetch(name: str, progress: bool | None = None) -> bytes:
    """The plain bytes of a known data set: from $RAYDREAM_DATA, else from the cache, else downloaded into it.

    Wherever they come from, their sha256 is checked; a set of which none is published is not downloaded. `progress`
    shows a bar while downloading; None shows it on a terminal only.
    """
    tell(f"reading {name}")
    if given := os.environ.get("RAYDREAM_DATA"):
        if not Path(given).is_dir():
            raise FileNotFoundError(f"`RAYDREAM_DATA` must name a folder that exists; got {given!r}.")
        if found := _find(name, Path(given)):
            return _verified(name, found.read_bytes(), str(found), "replace the file")
    cache = cache_folder()
    if found := _find(name, cache):
        return _verified(name, found.read_bytes(), str(found), "delete it to have it downloaded again")
    if KNOWN[name].sha256 is None:
        raise FileNotFoundError(
            f"`{name}` is not downloaded, since there is no published checksum to know it by; fetch {ADDRESS}{name} "
            "yourself, and set RAYDREAM_DATA to the folder that holds it."
        )
    return _download(name, cache, sys.stderr.isatty() if progress is None else progress)


def cache_folder() -> Path:
    """Where downloads are kept: $RAYDREAM_CACHE, or the user's cache folder."""
    if given := os.environ.get("RAYDREAM_CACHE"):
        return Path(given)
    import pooch  # slow to import, and not needed by those who bring their own files

    return Path(pooch.os_cache("raydream"))


def _find(name: str, folder: Path) -> Path | None:
    """The file of that name in the folder, plain or compressed."""
    paths = (folder / f"{name}{ending}" for ending in _ENDINGS)
    return next((path for path in paths if path.is_file()), None)


def _verified(name: str, data: bytes, origin: str, remedy: str) -> bytes:
    """`data` unpacked, if its sum is the published one, or none is."""
    text = unpack(data, origin)
    expected, got = KNOWN[name].sha256, hashlib.sha256(text).hexdigest()
    if expected not in (None, got):
        raise ValueError(f"`{origin}` must unpack to sha256 {expected}; got {got}; {remedy}.")
    return text


def _download(name: str, cache: Path, progress: bool) -> bytes:
    """The file fetched into the cache; it appears there under its name only when it is whole and right."""
    tell(f"downloading {name}")
    file = name + KNOWN[name].ending
    address = ADDRESS + file
    instead = f"or set RAYDREAM_DATA to a folder that holds {name!r}"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix=f".{file}-", dir=cache)
    except OSError as problem:
        raise OSError(
            f"`{cache}` must be a folder that can be written to; set RAYDREAM_CACHE to one, {instead}."
        ) from problem
    with scratch as folder:
        part = Path(folder) / file
        try:
            _transfer(address, part, progress)
        except OSError as problem:
            status = getattr(getattr(problem, "response", None), "status_code", None)
            reason = type(problem).__name__ if status is None else f"the server answered {status}"
            raise ConnectionError(f"`{address}` could not be downloaded ({reason}); try again, {instead}.") from problem
        text = _verified(name, part.read_bytes(), address, f"try again, {instead}")
        os.replace(part, cache / file)
    return text


def _transfer(address: str, target: Path, progress: bool) -> None:
    """The bytes at `address` written to `target`, with a bar on the terminal if wished."""
    import pooch
    from tqdm import tqdm

    # the downloader learns the true total from the server; until then a bar must have one to count as present
    with tqdm(total=1, desc=target.name, unit="B", unit_scale=True, disable=not progress) as bar:
        fetch_file = pooch.HTTPDownloader(progressbar=bar if progress else False, chunk_size=2**16, timeout=30)
        fetch_file(address, str(target), None)
