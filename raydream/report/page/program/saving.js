// What can be kept of a page: figures in the look of a paper, what is seen of them as CSV, and tables as LaTeX.

function keep(name, text, kind = "text/plain") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind + ";charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
function saver(text, title, act) {
  const button = document.createElement("button");
  button.type = "button"; button.textContent = text; button.title = title;
  button.addEventListener("click", event => { event.stopPropagation(); act(); });
  return button;
}

// ------------------------------------------------------------ numbers as Python writes them

function told(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e16) return String(value);
  if (!isFinite(value)) return value > 0 ? "inf" : "-inf";
  const [digits, power] = value.toExponential().split("e"), place = Number(power);
  if (place < -4 || place >= 16) return digits + "e" + (place < 0 ? "-" : "+") + String(Math.abs(place)).padStart(2, "0");
  if (place >= 0) return String(value);
  const sign = value < 0 ? "-" : "";
  return sign + "0." + "0".repeat(-place - 1) + digits.replace(/[-.]/g, "");
}
function sixDigits(value) {
  if (!value) return "0";
  const [digits, power] = value.toExponential(5).split("e"), place = Number(power);
  const short = text => text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  if (place < -4 || place >= 6) return short(digits) + "e" + (place < 0 ? "-" : "+") + String(Math.abs(place)).padStart(2, "0");
  return short(value.toFixed(5 - place));
}
const quoted = text => /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
const asCsv = rows => rows.map(row => row.map(cell => quoted(told(cell))).join(",") + "\n").join("");

// ------------------------------------------------------------ figures

const isLine = trace => (trace.type ?? "scatter") === "scatter" && (trace.mode ?? "lines").includes("lines") && (trace.line?.width ?? 2) !== 0 &&
  !trace.stackgroup && trace.name && (trace.visible ?? true) === true;
function forPaper(place) {  // a figure in the look of a paper, as `raydream.report.paper.style` has it
  const { layout, dashes, symbols, patterns, marks, size, ink } = structuredClone(facts.paper);
  const shown = structuredClone(place.layout), data = structuredClone(place.data.map(trace => ({ ...trace })));
  for (const name of ["template", "title", "sliders", "updatemenus", "paper_bgcolor", "plot_bgcolor", "width", "font", "margin", "dragmode"]) delete shown[name];
  const high = place.clientHeight < layout.height ? place.clientHeight : layout.height;
  for (const name of Object.keys(shown).filter(name => /^[xy]axis/.test(name))) {
    for (const part of ["gridcolor", "linecolor", "zerolinecolor"]) delete shown[name][part];
    if (shown[name].title?.font) delete shown[name].title.font;
  }
  data.filter(isLine).forEach((trace, i) => Object.assign(trace, { mode: "lines+markers", showlegend: true,
    line: { ...trace.line, dash: dashes[i % dashes.length], width: 1.3 },
    marker: { symbol: symbols[i % symbols.length], size: 5, maxdisplayed: marks, color: trace.line.color } }));
  data.filter(trace => trace.stackgroup).forEach((trace, i) => { trace.fillpattern = { shape: patterns[i % patterns.length], fgcolor: ink, size: 5 }; });
  for (const trace of data) {
    if (trace.mode === "text") trace.textfont = { ...trace.textfont, size: size - 1.5 };
    if (trace.type === "heatmap" && trace.colorbar) trace.colorbar = { ...trace.colorbar, thickness: 8, tickfont: { size: size - 1.5 } };
  }
  const several = data.filter(isLine).length > 1;
  return { data, layout: { ...shown, ...layout, height: high, showlegend: several || shown.showlegend } };
}
async function saveSvg(place, name) {
  const figure = forPaper(place);
  const url = await Plotly.toImage(figure, { format: "svg", width: figure.layout.width, height: figure.layout.height });
  keep(name + ".svg", decodeURIComponent(url.slice(url.indexOf(",") + 1)), "image/svg+xml");
}
function seenOf(place) {  // what is seen of any figure: its series, point by point
  const rows = [["series", "x", "y"]];
  (place._fullData ?? []).forEach((trace, i) => {
    if ((trace.visible ?? true) !== true || !trace.x || trace.mode === "text" || trace.type === "heatmap") return;
    Array.from(trace.x).forEach((x, j) => rows.push([trace.name || "series " + (i + 1), x, trace.customdata && typeof trace.customdata[j] === "string" && trace.type === "bar" ? trace.customdata[j] : trace.y[j]]));
  });
  return rows;
}
const special = {};  // figures whose numbers have names of their own, by where they are
function nameOf(place) {
  if (place.id) return place.id;
  const holder = place.parentElement.closest("[id]");
  return (holder?.id || "figure") + "-" + ([...place.parentElement.children].indexOf(place) + 1);
}
function offer(place) {
  if (place.querySelector(":scope > .corner")) return;
  const corner = document.createElement("span"), name = nameOf(place);
  corner.className = "saves corner";
  corner.append(saver("SVG", "This figure in the look of a paper", () => saveSvg(place, name)));
  if (special[name] || seenOf(place).length > 1) corner.append(saver("CSV", "The numbers that are seen", () => keep(name + ".csv", asCsv((special[name] ?? (() => seenOf(place)))()), "text/csv")));
  place.append(corner);
}
function offerAll() { for (const place of document.querySelectorAll(".js-plotly-plot")) offer(place); }

// ------------------------------------------------------------ tables

function offerTables() {
  for (const table of document.querySelectorAll("table[id]")) {
    const own = facts.tables?.[table.dataset.saves], bar = document.createElement("div");
    bar.className = "saves beside";
    if (own) bar.append(saver("LaTeX", "This table for booktabs", () => keep(table.dataset.saves + ".tex", own.tex)));
    const shown = () => asCsv([...table.rows].map(row => [...row.cells].map(cell => cell.textContent)));
    bar.append(saver("CSV", "The numbers of this table", () => keep((table.dataset.saves || table.id) + ".csv", own ? own.csv : shown(), "text/csv")));
    (table.closest(".scroll") ?? table).before(bar);
  }
}

// ------------------------------------------------------------ on paper

function sized(printing) {  // figures as wide as the sheet, and as light; and back again
  document.documentElement.classList.toggle("printing", printing);
  for (const place of document.querySelectorAll(".js-plotly-plot")) {
    if (!place.offsetParent) continue;
    const size = printing ? { width: place.clientWidth, height: place.clientHeight, template: facts.templates.light } : { width: null, height: null, autosize: true, template: template() };
    Plotly.relayout(place, size);
  }
}
addEventListener("beforeprint", () => sized(true));
addEventListener("afterprint", () => sized(false));
