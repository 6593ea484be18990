"""The site: built offline with warnings as errors, its tutorials run on the way, and its blocks are programs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if page.parent.name != "tutorials")
TUTORIALS = sorted(page for page in (DOCS / "tutorials").glob("*.md") if page.stem != "index")
SHELL = [line for page in PAGES for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
         for line in block.splitlines()]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All pages, made as a reader would make them."""
    pytest.importorskip("myst_nb", reason="the extra `docs` is not installed: pip install 'raydream[docs]'")
    out = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(out / "kept"), str(DOCS)]
    offline = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    settings = {**os.environ, **offline, "no_proxy": "127.0.0.1,localhost"}
    done = subprocess.run([*words, str(out / "html")], capture_output=True, text=True, timeout=1800, env=settings)
    assert done.returncode == 0, done.stderr[-3000:]
    return out / "html"


def test_every_page_is_there(site):
    """And nothing on it comes from elsewhere."""
    for page in [*PAGES, *TUTORIALS]:
        made = (site / page.relative_to(DOCS)).with_suffix(".html").read_text()
        fetched = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]+)', made)
        assert not fetched, f"{page.name} fetches {fetched}"


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_shows_what_it_prints(site, page):
    """Cells have outputs, and the notebook can be taken along."""
    made = (site / "tutorials" / f"{page.stem}.html").read_text()
    assert made.count("cell_output") >= 1 and f"{page.stem}.ipynb" in made
    assert "Traceback" not in made


def test_the_tutorial_on_clusters_finds_the_same_bits(site):
    assert re.search(r"<pre>(?:<span></span>)?True\n</pre>", (site / "tutorials" / "cluster.html").read_text())


@pytest.mark.parametrize("line", SHELL)
def test_a_command_of_a_page_runs(line, tmp_path):
    """As it stands, in the folder of the repository."""
    program, *words = line.split()
    assert program == "python", "other commands are tested with the command line"
    done = subprocess.run(
        [sys.executable, *words, "--out", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-2000:]
