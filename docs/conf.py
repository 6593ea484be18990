"""How the site is built: `sphinx-build -W docs site`. Tutorials are run while it is built; nothing is fetched."""

import os
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import plotly

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from plain import restructured  # noqa: E402  beside this file

ABOUT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]

project = ABOUT["name"]
release = ABOUT["version"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_kernel", "_static"]
html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = os.environ.get("RAYDREAM_DOCS_RUN", "force")  # "off" for a look at the pages alone
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures name them
autodoc_preserve_defaults = True

os.environ["IPYTHONDIR"] = str(HERE / "_kernel")  # figures of tutorials use the plotly of this site
os.environ.setdefault("PYTHONWARNINGS", "ignore::DeprecationWarning")


def setup(app: Any) -> None:
    """The site brings its own plotly, for pages that have figures."""
    app.connect("autodoc-process-docstring", _marked_up)
    app.connect("html-page-context", _ask_for_plotly)
    app.connect("build-finished", _add_plotly)


def _marked_up(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def _ask_for_plotly(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    if "plotly-graph-div" in context.get("body", ""):
        app.add_js_file("plotly.min.js")


def _add_plotly(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        found = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
        shutil.copyfile(found, Path(app.outdir) / "_static" / found.name)
