"""What a paper gets: LaTeX that compiles, numbers to the last bit, curves that look the same, nothing half-written."""

import csv
import io
import math
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raydream as rd
from raydream.cli.app import app
from raydream.problems import QuadraticGame
from raydream.report import figures
from raydream.report.collect import collect
from raydream.report.paper.latex import booktabs
from raydream.report.paper.numbers import told
from raydream.report.paper.style import drawn_lines, paper
from raydream.report.paper.thinning import FINEST, stretches, visible
from raydream.report.paper.tikz import tikz
from raydream.report.tables.reach import reach
from raydream.report.tables.rounding import fixed, rounded
from raydream.report.tables.standing import standing
from raydream.report.tables.table import Head, Table, numbered, said, worded
from raydream.report.tables.tex import escaped, measured

GAME, RING = QuadraticGame.random(agents=4, samples=6, dim_x=2, dim_y=3, seed=1), rd.topology.ring(4)
METHODS = {
    "dream": rd.DREAM(eta=0.1, gamma=0.3, b=2), "gt-gda": rd.GTGDA(eta=0.1, gamma=0.3),
    "slow": rd.GTGDA(eta=0.001, gamma=0.3),
}  # fmt: skip


@pytest.fixture(scope="module")
def comparison():
    found = rd.compare(
        GAME, RING, METHODS, seeds=range(4), max_sfo=3000, record_every=2, backend="local", parallel=False,
    )  # fmt: skip
    named = {"slow": "a_b 50% & {slow}"}
    return rd.Comparison({(named.get(label, label), seed): one for (label, seed), one in found.results.items()})


@pytest.fixture(scope="module")
def kept(comparison, tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper") / "kept"
    plain = {("slow" if "slow" in label else label, seed): one for (label, seed), one in comparison.results.items()}
    rd.Comparison(plain, tuned="tuned by hand_made & 5 %").save(folder)
    return folder


def compile_with_latex(folder):
    """Every .tex and .tikz of a folder in one document, where there is a LaTeX; else nothing."""
    engine = shutil.which("pdflatex") or shutil.which("tectonic")
    if engine is None:
        return
    names = [file.name for file in sorted([*folder.glob("*.tex"), *folder.glob("*.tikz")])]
    inputs = "\n".join(rf"\input{{{name}}}\clearpage" for name in names)
    (folder / "all.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\usepackage{pgfplots}\\pgfplotsset{compat=1.16}"
        f"\\begin{{document}}\n{inputs}\n\\end{{document}}\n"
    )
    options = ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in engine else []
    done = subprocess.run([engine, *options, "all.tex"], cwd=folder, capture_output=True, text=True, errors="replace")
    (folder / "all.tex").unlink()
    assert done.returncode == 0, done.stdout[-3000:]


def check_structure(text):
    """Braces and environments close, each row has as many cells as there are columns, and nothing is left unescaped."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    bare = re.sub(r"\\[\\{}$&#%_]", "", body)
    depth = 0
    for sign in bare:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0 and bare.count("$") % 2 == 0 and "%" not in bare and "#" not in bare
    for name in re.findall(r"\\begin\{(\S+?)\}", body):
        assert body.count(rf"\begin{{{name}}}") == body.count(rf"\end{{{name}}}")
    assert "_" not in re.sub(r"\$[^$]*\$|\\ensuremath\{[^}]*\}|\\label\{[^}]*\}", "", bare)
    if r"\toprule" in body:
        columns = re.search(r"\{@\{\}([lr]+)@\{\}\}", body).group(1)
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert rows and all(row.replace(r"\&", "").count("&") == len(columns) - 1 for row in rows)


# ---------------------------------------------------------------- words and numbers


@settings(deadline=None)
@given(st.text())
def test_any_text_is_printed_and_obeyed_in_nothing(text):
    """Whatever a record says: no command, no comment, no brace that stays open."""
    check_structure(rf"\textbf{{{escaped(text)}}}")


def test_special_signs_are_escaped():
    """%, _, & and the rest; mathematics as such; what LaTeX may not have by its number."""
    assert escaped("50% of a_b & #1 {x} $y$ ~^\\") == (r"50\% of a\_b \& \#1 \{x\} \$y\$ \~{}\^{}\textbackslash{}")
    assert escaped("‖∇P(x̄)‖ ≤ λ₂") == (
        r"\ensuremath{\|}\ensuremath{\nabla}P(\ensuremath{\bar{x}})\ensuremath{\|} \ensuremath{\le} "
        r"\ensuremath{\lambda}\ensuremath{_2}"
    )
    assert escaped("Müller 猫\n\x00") == "Müller [U+732B] [U+0000]"


def test_a_number_keeps_two_digits_of_its_interval():
    """Not more than six of its own, and thousands and powers of ten as people write them."""
    assert rounded(0.331234, 0.3310, 0.3315).text == "0.33123 (0.33100 to 0.33150)"
    assert rounded(12345.0, 12000.0, 13000.0, whole=True).text == "12,345 (12,000 to 13,000)"
    assert rounded(1.234e-7, 1.2e-7, 1.3e-7).text == "1.23e-07 (1.20e-07 to 1.30e-07)"
    assert rounded(2.5).text == "2.500" and rounded(math.nan).text == "-" and rounded(0.0, 0.0, 0.0).text == "0.000"
    assert rounded(5.0, 4.0, math.nan).text == "5.000 (4.000 to ∞)"
    assert measured(rounded(1.234e-7, 1.2e-7, 1.3e-7), "best") == (
        r"$\mathbf{1.23}$ {\scriptsize$[1.20, 1.30]$}${}\cdot10^{-7}$"
    )
    assert measured(rounded(12345.0, whole=True), "tied") == r"$12{,}345^{\dagger}$"


@given(st.floats(1e-12, 1e12), st.floats(1e-3, 1))
def test_rounding_is_near(middle, share):
    """By less than half of the last digit that is shown, which is at most a twentieth of the interval."""
    low, high = middle * (1 - share / 2), middle * (1 + share)
    shown = rounded(middle, low, high)
    value = float(shown.middle.replace(",", "")) * 10.0**shown.power
    assert abs(value - middle) <= max((high - low) / 20, 1e-5 * middle) * (1 + 1e-9)


def test_a_half_is_rounded_up():
    """As browsers do it, so that a page's numbers are these."""
    assert [fixed(one, 0) for one in (0.5, 1.5, 2.5)] == ["1", "2", "3"] and fixed(1.005, 2) == "1.00"


# ---------------------------------------------------------------- tables


def test_the_best_is_bold_and_ties_are_marked(comparison):
    """As paired differences decide it."""
    table = standing(collect(comparison))
    (place,) = [number for number, head in enumerate(table.heads) if head.keys[0] == "grad_norm"]
    shown = {row[0].text: row[place] for row in table.rows}
    ends = comparison.finals("grad_norm").set_index("method")["median"]
    best = ends.idxmin()
    assert shown[best].mark == "best" and r"\mathbf" in shown[best].tex
    rest = comparison.differences("grad_norm")
    for row in rest.to_dict("records"):
        if best in (row["first"], row["second"]):
            other = shown[row["second"] if row["first"] == best else row["first"]]
            assert other.mark == ("" if row["decided"] else "tied") and ("†" in other.text) == (not row["decided"])
    assert [cell.values[0] for cell in shown.values()] == list(ends)


def test_what_was_not_reached_is_said(comparison):
    """No number, no mark, and how many got there."""
    target = 1.2 * comparison.finals("grad_norm")["median"].iloc[:2].max()
    table = reach(collect(comparison), target, "grad_norm", {"dream": 1})
    slow = table.rows[2]
    assert slow[1].text == "0 of 4" and slow[2].text == "not reached" and slow[2].mark == ""
    assert table.rows[0][1].text.endswith("of 5")
    wanted = comparison.to_reach(target).set_index("method").loc["gt-gda"]
    assert table.rows[1][2].values[:3] == tuple(wanted[["sfo", "sfo_low", "sfo_high"]])


@pytest.mark.parametrize("name", [r"\input{/etc/passwd}", "a & b \\\\ c", "%}{", "x\ny", "$_^$"])
def test_hostile_labels_stay_words(name, tmp_path):
    """In a table, its caption and its comment."""
    head = Head("P", "$P$", ("primal", "low", "high"), numeric=True)
    table = Table("t", (said("method"), head), ((worded(name), numbered(1.0)),)).captioned(name)
    text = booktabs(table, f"made by {name}")
    check_structure(text)
    assert text.count("\n%") == f"made by {name}".count("\n") + 1
    (tmp_path / "t.tex").write_text(text)
    compile_with_latex(tmp_path)


# ---------------------------------------------------------------- curves


def curve(draw):
    return np.cumsum(draw.exponential(size=3000)), np.exp(-np.linspace(0, 8, 3000)) * (1 + draw.random(3000))


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_out_lies_on_the_line_that_is_left(seed):
    """Within a thousandth of the axis, ends included, with far fewer points."""
    x, y = curve(np.random.default_rng(seed))
    x, y = (x - x[0]) / (x[-1] - x[0]), y / y.max()
    keep = visible(x, y)
    assert keep[0] == 0 and keep[-1] == len(x) - 1
    assert np.abs(np.interp(x, x[keep], y[keep]) - y).max() <= FINEST * (1 + 1e-9)
    smooth = np.linspace(0, 1, 3000)
    assert len(visible(smooth, smooth**2)) < 40 and len(visible(smooth, 3 * smooth)) == 2
    assert len(visible(smooth[:1], smooth[:1])) == 1 and len(visible(smooth[:0], smooth[:0])) == 0


def test_gaps_stay_gaps():
    """A curve with a hole is drawn as two."""
    assert stretches(np.array([True, True, False, True])) == [slice(0, 2), slice(3, 4)]


def test_tikz_draws_the_lines_and_bands_of_the_figure(comparison, tmp_path):
    """A plot for each method, a filled one for its band, log axes as such, names escaped; the first and last points."""
    figure = paper(comparison.plot.convergence("sfo", "grad_norm"))
    text = tikz(figure, "made by hand")
    check_structure(text)
    assert text.startswith("% made by hand\n") and "ymode=log" in text and "xmode=log" not in text
    assert text.count(r"\addlegendentry") == 3 == text.count("forget plot") and r"a\_b 50\% \& \{slow\}" in text
    drawn = re.findall(r"addplot\[color.*?coordinates \{(.*?)\};", text, re.DOTALL)
    for points, trace in zip(drawn, drawn_lines(figure), strict=True):
        told_points = [tuple(map(float, one.split(","))) for one in re.findall(r"\((.*?)\)", points)]
        assert told_points[0] == pytest.approx((trace.x[0], trace.y[0]), rel=1e-5)
        assert told_points[-1] == pytest.approx((trace.x[-1], trace.y[-1]), rel=1e-5)
    (tmp_path / "t.tikz").write_text(text)
    compile_with_latex(tmp_path)


def test_lines_of_a_paper_can_be_told_apart_without_colour(comparison):
    """By dash and by mark; a column wide, in a serif font; the figure that was given stays as it was."""
    given = comparison.plot.convergence()
    before = given.to_json()
    figure = paper(given)
    looks = [(trace.line.dash, trace.marker.symbol) for trace in drawn_lines(figure)]
    assert len({*looks}) == 3 and figure.layout.width == 326 and "serif" in figure.layout.font.family
    assert given.to_json() == before
    assert figure.layout.title.text is None and paper(comparison.plot.to_reach(1.0)).layout.title.text is None
    piled = rd.run(GAME, RING, METHODS["dream"], iterations=5, backend="local", diagnostics=True)
    assert len({trace.fillpattern.shape for trace in paper(figures.lyapunov(piled)).data}) == 4


# ---------------------------------------------------------------- files


def rows_of(file):
    return list(csv.DictReader(io.StringIO(file.read_text())))


def test_a_comparison_is_exported(kept, tmp_path):
    """Tables that compile, with caption and commands; the history to its last bit."""
    files = rd.export(kept, tmp_path, "tex,csv,tikz")
    names = {file.name for file in files}
    assert {"standing.tex", "pairs.tex", "reach.tex", "history.csv", "convergence.csv", "standing.csv", "reach.csv",
            "convergence.tikz", "mixing.tikz", "again.txt"} == names - {"pairs.csv"}  # fmt: skip
    for file in tmp_path.glob("*.t[ei][xk]*"):
        if file.suffix in (".tex", ".tikz"):
            check_structure(file.read_text())
            assert f"% raydream export {kept} --format tex,csv,tikz\n" in file.read_text()
    text = (tmp_path / "standing.tex").read_text()
    for part in ("QuadraticGame: 4 agents with 6 samples each", "Network: ring", "Seeds 0 to 3", r"hand\_made \& 5 \%",
                 r"\toprule", "at 3,000 SFO calls"):  # fmt: skip
        assert part in text
    history = pd.read_csv(tmp_path / "history.csv")
    wanted = rd.Comparison.load(kept).history
    pd.testing.assert_frame_equal(
        history[list(wanted.columns)].sort_values(["method", "seed", "iteration"], ignore_index=True),
        wanted.sort_values(["method", "seed", "iteration"], ignore_index=True), check_dtype=False, check_exact=True,
    )  # fmt: skip
    compile_with_latex(tmp_path)


def test_the_numbers_of_a_table_are_those_of_the_comparison(kept, tmp_path):
    """In full, with their bounds and marks, where LaTeX has them rounded."""
    rd.export(kept, tmp_path, "csv")
    rows, ends = rows_of(tmp_path / "standing.csv"), rd.Comparison.load(kept).finals("primal").to_dict("records")
    for row, end in zip(rows, ends, strict=True):
        told_numbers = [float(row[name]) for name in ("primal", "primal_low", "primal_high")]
        assert row["method"] == end["method"] and told_numbers == [end["median"], end["low"], end["high"]]
    assert sorted(row["primal_mark"] for row in rows).count("best") == 1


def test_the_curves_are_those_of_the_figure(kept, tmp_path):
    """Medians and quartiles at the same places."""
    rd.export(kept, tmp_path, "csv", x="rounds", y="primal")
    rows = rows_of(tmp_path / "convergence.csv")
    figure = rd.Comparison.load(kept).plot.convergence("rounds", "primal")
    for trace in drawn_lines(figure):
        own = [row for row in rows if row["method"] == trace.name.split(":")[0]]
        assert [float(row["rounds"]) for row in own] == list(trace.x)
        assert [float(row["primal"]) for row in own] == list(trace.y)
    assert "--x rounds --y primal" in (tmp_path / "again.txt").read_text()


def test_parquet_has_what_csv_has(kept, tmp_path):
    """Column by column."""
    pytest.importorskip("pyarrow", reason="no pyarrow found: pip install 'raydream[parquet]'")
    rd.export(kept, tmp_path, ["csv", "parquet"])
    for name in ("history", "standing"):
        packed, plain = pd.read_parquet(tmp_path / f"{name}.parquet"), pd.read_csv(tmp_path / f"{name}.csv")
        assert list(packed.columns) == list(plain.columns)
        numeric = plain.select_dtypes("number").columns
        pd.testing.assert_frame_equal(packed[numeric], plain[numeric], check_dtype=False, check_exact=True)
        assert list(packed.method) == list(plain.method)


def test_a_run_a_tuning_and_a_study_are_exported(comparison, tmp_path):
    """Each with its own table and numbers; from Python where nothing was kept, with a place to write to."""
    one = comparison.results["dream", 0]
    with pytest.raises(TypeError, match="`out` must be given"):
        rd.export(one)
    rd.export(one, tmp_path / "run", "tex,csv,tikz")
    assert "rd.export(runs, out, 'tex,csv,tikz')" in (tmp_path / "run" / "standing.tex").read_text()
    assert len(rows_of(tmp_path / "run" / "history.csv")) == len(one.history)
    space = {"eta": (0.1, 0.2), "gamma": 0.3}
    tuning = rd.tune(GAME, RING, ["dream", "gt-gda"], budget=2000, space=space, search="grid", workers=1)
    rd.export(tuning, tmp_path / "tuning", "tex,csv,tikz")
    text = (tmp_path / "tuning" / "winners.tex").read_text()
    assert r"\mathbf" in text and "grid search" in text and len(rows_of(tmp_path / "tuning" / "trials.csv")) == 4
    said = {"title": "Two_networks & more", "seeds": 2, "budget": {"amount": 600},
            "problem": [{"name": "quadratic", "agents": 4, "samples": 6}],
            "network": [{"name": "ring", "self_weight": [0.5, 0.9]}],
            "method": [{"name": name, "eta": 0.1, "gamma": 0.3} for name in ("dream", "gt-gda")]}  # fmt: skip
    rd.study(said, tmp_path / "s", workers=1)
    files = rd.export(tmp_path / "s", None, "tex,csv,tikz")
    assert files[0].parent == tmp_path / "s" / "export"
    assert {row["cell"] for row in rows_of(tmp_path / "s" / "export" / "history.csv")} == {
        "self_weight=0.5", "self_weight=0.9"
    }  # fmt: skip
    for folder in (tmp_path / "run", tmp_path / "tuning", tmp_path / "s" / "export"):
        for file in folder.glob("*.tex"):
            check_structure(file.read_text())
        compile_with_latex(folder)


def test_figures_are_drawn_for_a_paper(comparison, tmp_path):
    """SVG with what made it inside, and PDF of the same size, by kaleido."""
    pytest.importorskip("kaleido", reason="no kaleido found: pip install 'raydream[export]'")
    if shutil.which("chromium") is None:
        pytest.skip("no browser found: install one with `apt-get install chromium`")
    rd.export(comparison.results["dream", 0], tmp_path, "svg,pdf")
    names = {file.stem for file in tmp_path.glob("*.svg")}
    assert {"convergence", "reach-sfo", "ledger-bytes", "network", "spectrum", "mixing", "distances"} <= names
    svg = (tmp_path / "convergence.svg").read_text()
    assert 'width="326"' in svg and "<desc>Made by raydream" in svg and "serif" in svg
    assert (tmp_path / "convergence.pdf").read_bytes().startswith(b"%PDF")


def test_mistakes_get_a_sentence_and_leave_nothing(kept, tmp_path, monkeypatch):
    """A format, a style, a column that is not there; a place that is no run; and no file before all are made."""
    for options, sentence in (
        ({"formats": "tex,docx"}, "`formats` must be one of"),
        ({"style": "poster"}, "`style` must be one of"),
        ({"x": "sofa"}, "`x` must be one of"),
        ({"target": "low"}, "`target` must be a number"),
    ):
        with pytest.raises((ValueError, TypeError), match=sentence):
            rd.export(kept, tmp_path / "out", **options)
    with pytest.raises(FileNotFoundError, match="run directory"):
        rd.export(tmp_path / "nowhere")
    monkeypatch.setattr("raydream.report.paper.export.tikz", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        rd.export(kept, tmp_path / "out", "tex,csv,tikz")
    assert not (tmp_path / "out").exists()


def test_the_command_exports(kept, tmp_path):
    """The files are named, one in a line; a wrong format is a sentence and exit code 2."""
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, ["export", str(kept), "--format", "csv", "--out", str(tmp_path)])
    assert done.exit_code == 0 and str(tmp_path / "history.csv") in done.output.splitlines()
    wrong = CliRunner().invoke(app, ["export", str(kept), "--format", "word"])
    assert wrong.exit_code == 2 and "`formats` must be one of" in wrong.output


def test_what_csv_says():
    """Whole numbers without a point, others to the last bit, nothing for what is not known."""
    assert [told(one) for one in (3.0, 0.1, 1e-7, math.nan, None, "a")] == ["3", "0.1", "1e-07", "", "", "a"]
