// The map of who is first over prices, the sliders, and the curves at the prices where they stand.

const CELLS = 121;
const MOST_AHEAD = 10;  // times, at the full colour
const SLIDERS = [["gradient", "gradient_seconds", "a gradient costs", duration], ["message", "latency", "a message takes", duration], ["link", "bandwidth", "a link carries", pace]];
const axisOf = ([low, high]) => Array.from({ length: CELLS }, (_, i) => low * (high / low) ** (i / (CELLS - 1)));

function mixed(colour, paper, share) {
  const part = (text, i) => parseInt(text.slice(i, i + 2), 16);
  return "rgb(" + [1, 3, 5].map(i => Math.round(share * part(colour, i) + (1 - share) * part(paper, i))).join(",") + ")";
}
function shades(colours, paper) {  // of each method, from a tint for a dead heat to the full colour
  const n = colours.length;
  return colours.flatMap((colour, i) => [[i / n, mixed(colour, paper, .38)], [(i + .3) / n, mixed(colour, paper, .7)], [(i + 1) / n - (i + 1 < n ? 1e-9 : 0), colour]]);
}

function surveyed(methods) {  // the judgement in every cell, by rows of gradient and columns of latency
  const x = axisOf(pricing.spans.latency), y = axisOf(pricing.spans.gradient_seconds);
  return { x, y, cells: y.map(gradient => x.map(message => judged(methods, { gradient, message, link: price.link }))) };
}

function hatching({ x, y, cells }) {  // slanted lines through the cells that are not decided
  const xs = [], ys = [], half = Math.sqrt(x[1] / x[0]), tall = Math.sqrt(y[1] / y[0]);
  for (let d = 0; d < 2 * CELLS - 1; d += 3) {  // falling, as most borders rise
    let begun = false;
    const end = Math.min(d, CELLS - 1);
    for (let i = Math.max(0, d - CELLS + 1); i <= end; i++) {
      const open = !cells[d - i][i].decided;
      if (open && !begun) { xs.push(x[i] / half); ys.push(y[d - i] * tall); begun = true; }
      if (begun && (!open || i === end)) { const last = open ? i : i - 1; xs.push(x[last] * half, null); ys.push(y[d - last] / tall, null); begun = false; }
    }
  }
  return { x: xs, y: ys };
}

function heart({ x, y, cells }, method) {  // the cell of a region that is furthest from its border, unless the region is small
  const depth = new Int32Array(CELLS * CELLS), at = (i, j) => i < 0 || j < 0 || i >= CELLS || j >= CELLS ? 0 : depth[i * CELLS + j];
  let size = 0, best = -1;
  for (let i = 0; i < CELLS; i++) for (let j = 0; j < CELLS; j++) if (cells[i][j].winner === method) { size++; depth[i * CELLS + j] = 1 + Math.min(at(i - 1, j), at(i, j - 1)); }
  for (let i = CELLS - 1; i >= 0; i--) for (let j = CELLS - 1; j >= 0; j--) {
    const k = i * CELLS + j;
    if (depth[k]) depth[k] = Math.min(depth[k], 1 + Math.min(at(i + 1, j), at(i, j + 1)));
  }
  if (size < .02 * CELLS * CELLS) return null;
  let sum = [0, 0], count = 0;
  for (const value of depth) if (value > best) best = value;
  for (let k = 0; k < depth.length; k++) if (depth[k] === best) { sum[0] += Math.floor(k / CELLS); sum[1] += k % CELLS; count++; }
  return { x: x[Math.round(sum[1] / count)], y: y[Math.round(sum[0] / count)] };
}

function borders({ x, y, cells }, methods, paper) {  // where two methods are equally fast
  return methods.map((_, i) => cells.map(row => row.map(cell => {
    let others = Infinity;
    for (let j = 0; j < cell.medians.length; j++) if (j !== i && cell.medians[j] < others) others = cell.medians[j];
    const margin = Math.log(others) - Math.log(cell.medians[i]);
    return Math.min(3, Math.max(-3, Number.isNaN(margin) ? -3 : margin));
  }))).filter(z => z.some(row => row.some(value => value > 0)) && z.some(row => row.some(value => value < 0)))
    .map(z => ({ type: "contour", x, y, z, hoverinfo: "skip", showscale: false, showlegend: false, contours: { start: 0, end: 0, size: 1, coloring: "none" }, line: { color: paper, width: 2.5, smoothing: 1 } }));
}

function ticksOf(values) {  // powers of ten, in usual units
  const first = Math.ceil(Math.log10(values[0]) - 1e-9), last = Math.floor(Math.log10(values[values.length - 1]) + 1e-9);
  const marks = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
  return { tickvals: marks, ticktext: marks.map(duration) };
}

const MARKS = [...Array.from({ length: 13 }, (_, i) => 10 ** (i - 11)), 60, 600, 3600, 36000, ...Array.from({ length: 8 }, (_, i) => 864000 * 10 ** i)];
function timesOf([low, high], width) {  // marks of a clock, as many as have room
  const marks = MARKS.filter(value => value >= low * .999 && value <= high * 1.001), every = Math.max(1, Math.ceil(marks.length / Math.max(2, width / 70)));
  const kept = marks.filter((_, i) => i % every === 0);
  return { tickvals: kept, ticktext: kept.map(duration) };
}

function drawnMap(methods, survey, look) {  // look: dark, narrow, whether it is to be saved
  const paper = look.dark ? "#14181E" : "#FFFFFF", ink = look.dark ? "#FFFFFF" : "#10151C", n = methods.length;
  const won = [...new Set(survey.cells.flatMap(row => row.map(cell => cell.winner)))].sort((a, b) => a - b);
  const lead = cell => Math.log10(Math.min(MOST_AHEAD, cell.ratio)) / Math.log10(MOST_AHEAD);
  const data = [{ type: "heatmap", x: survey.x, y: survey.y, z: survey.cells.map(row => row.map(cell => cell.winner + .999 * lead(cell))), zmin: 0, zmax: n,
    colorscale: shades(methods.map(method => method.colour), paper), showscale: false, hoverinfo: "none" },
  { ...hatching(survey), type: "scatter", mode: "lines", line: { color: ink, width: 1 }, opacity: .3, hoverinfo: "skip", showlegend: false },
  ...borders(survey, methods, paper)];
  const hearts = won.map(i => [methods[i].label, heart(survey, i)]).filter(([, place]) => place);
  data.push({ type: "scatter", mode: "text", hoverinfo: "skip", showlegend: false, x: hearts.map(([, place]) => place.x), y: hearts.map(([, place]) => place.y), text: hearts.map(([label]) => "<b>" + plain(label) + "</b>"),
    textfont: { size: look.narrow ? 13 : 16, color: "#FFFFFF", shadow: "0px 0px 4px #000000B0, 0px 0px 2px #00000080" } });
  for (const i of won) data.push({ type: "scatter", mode: "markers", x: [null], y: [null], name: plain(methods[i].label), showlegend: true, hoverinfo: "skip", marker: { symbol: "square", size: 12, color: methods[i].colour } });
  const ticks = [1, 1.5, 2, 3, 5, MOST_AHEAD];
  data.push({ type: "scatter", mode: "markers", x: [null], y: [null], hoverinfo: "skip", showlegend: false, marker: { color: [0], cmin: 0, cmax: 1, showscale: true, colorscale: shades(["#6B7480"], paper),
    colorbar: { orientation: "h", thickness: 9, len: look.narrow ? 1 : .62, x: 1, xanchor: "right", y: look.narrow ? -.2 : -.155, yanchor: "top", outlinewidth: 0, ticks: "", ticklabelposition: "outside",
      tickvals: ticks.map(value => Math.log10(value) / Math.log10(MOST_AHEAD)), ticktext: ticks.map(value => (value === MOST_AHEAD ? "≥ " : "") + value), tickfont: { size: 11 },
      title: { text: "times as fast as the second", side: "top", font: { size: 11 } } } } });
  data.push({ type: "scatter", mode: "markers", x: [price.message], y: [price.gradient], hoverinfo: "skip", showlegend: false, meta: "here", marker: { size: 15, color: "rgba(255,255,255,.95)", line: { color: "#10151C", width: 3 } } });
  const half = Math.log10(survey.x[1] / survey.x[0]) / 2, tall = Math.log10(survey.y[1] / survey.y[0]) / 2, spans = values => [Math.log10(values[0]), Math.log10(values[values.length - 1])];
  const axis = (values, text, edge) => ({ type: "log", title: { text }, ...ticksOf(values), range: [spans(values)[0] - edge, spans(values)[1] + edge], showgrid: false, zeroline: false, ticks: "outside", ticklen: 4, fixedrange: true, tickangle: 0, tickfont: { size: look.narrow ? 10 : 12 } });
  const thin = ({ tickvals, ticktext }) => look.narrow ? { tickvals: tickvals.filter((_, i) => i % 2 === 0), ticktext: ticktext.filter((_, i) => i % 2 === 0) } : {};
  const across = axis(survey.x, "a message takes", half), up = axis(survey.y, "a gradient costs", tall);
  const title = "Who is first to " + aimed(), said = "a link carries " + pace(price.link) + "; median of " + methods[0].of.length + (methods[0].of.length === 1 ? " seed" : " seeds");
  return { data, layout: { template: facts.templates[look.dark ? "dark" : "light"], dragmode: false, hovermode: "closest", showlegend: true,
    margin: { l: 66, r: 14, t: look.saved ? 122 : 34, b: 96 }, legend: { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", itemclick: false, itemdoubleclick: false },
    title: look.saved ? { text: title, x: 0, xref: "paper", y: .97, yanchor: "top", font: { size: 18 }, subtitle: { text: said, font: { size: 12 } } } : undefined,
    paper_bgcolor: look.saved ? paper : "rgba(0,0,0,0)", xaxis: { ...across, ...thin(across) }, yaxis: up } };
}

let survey = null, methods = [], drawn = "";
function map() {  // judged anew where more has changed than the place of the marker
  const look = { dark: dark.matches, narrow: $("map").clientWidth < 520, saved: false };
  const key = JSON.stringify([price.link, goal, [...state.hidden], look]);
  if (key === drawn) { Plotly.restyle("map", { x: [[price.message]], y: [[price.gradient]] }, [$("map").data.length - 1]); return; }
  survey = surveyed(methods);
  const { data, layout } = drawnMap(methods, survey, look);
  Plotly.react("map", data, layout, { ...settings, displayModeBar: false });
  drawn = key;
  if (!tip) listen();
}
function judge() {  // after the prices, the target, or the methods in sight have changed
  if (!pricing || pricing.why) return;
  priceRuns();
  methods = reaching();
  const found = methods.length ? judged(methods, price) : { winner: -1 };
  $("won-said").textContent = verdict(methods, found);
  $("won-said").style.borderColor = found.decided ? methods[found.winner].colour : "";
  $("map").hidden = found.winner < 0;
  if (found.winner >= 0) map();
  const view = { x: PRICED, y: goal.metric, logX: true }, shown = facts.metrics[goal.metric];
  const curves = lines(view, "simulated seconds", ".4~g").filter(trace => trace.visible).map(trace => trace.meta === "line" ? { ...trace, showlegend: true } : trace);
  const times = curves.flatMap(trace => Array.from(trace.x)).filter(value => value > 0);
  const ends = [Math.min(...times), Math.max(...times)];
  curves.push({ x: ends, y: [goal.target, goal.target], mode: "lines", line: { color: facts.neutral, width: 1.5, dash: "dot" }, hoverinfo: "skip", showlegend: false, meta: "target" });
  if (found.winner >= 0) curves.push({ x: found.medians, y: found.medians.map(() => goal.target), mode: "markers", marker: { size: 10, color: methods.map(method => method.colour), line: { color: dark.matches ? "#14181E" : "#FFFFFF", width: 2 } },
    customdata: methods.map((method, i) => plain(method.label) + " after " + duration(found.medians[i])), hovertemplate: "<b>%{customdata}</b><extra></extra>", showlegend: false, meta: "arrivals" });
  const some = curves.some(trace => trace.y.some(value => value > 0));
  Plotly.react("priced", curves, { template: template(), margin: { l: 58, r: 14, t: 34, b: 96 }, hovermode: "closest", dragmode: touch ? false : "zoom", legend: { itemclick: false, itemdoubleclick: false, y: 1.01, traceorder: "normal" },
    xaxis: { type: "log", title: { text: "simulated time" }, ...(times.length ? timesOf(ends, $("priced").clientWidth) : {}), tickangle: 0 },
    yaxis: { title: { text: shown.name }, type: shown.log && some ? "log" : "linear", ...shown.ticks, nticks: shown.log ? 5 : 0 } }, { ...settings, displayModeBar: false });
}
let tip = null;
function listen() {  // the numbers under the pointer; a click puts the sliders there
  tip = document.createElement("div");
  tip.className = "tip"; tip.hidden = true;
  $("map").parentElement.append(tip);
  $("map").on("plotly_hover", event => {
    const point = event.points.find(one => one.data.type === "heatmap");
    if (point) showTip(survey.cells[point.pointIndex[0]][point.pointIndex[1]], point.x, point.y, event.event);
  });
  $("map").on("plotly_unhover", () => { tip.hidden = true; });
  $("map").on("plotly_click", event => {
    const point = event.points.find(one => one.data.type === "heatmap");
    if (point) { price.message = point.x; price.gradient = point.y; offered(); judge(); }
  });
}
function showTip(cell, message, gradient, pointer) {
  const line = text => { const part = document.createElement("div"); part.textContent = text; return part; };
  const table = document.createElement("table");
  for (const i of methods.map((_, i) => i).sort((a, b) => cell.medians[a] - cell.medians[b])) {
    const row = table.insertRow(), square = document.createElement("i"), count = methods[i].of.filter(one => one?.reached).length, all = methods[i].of.filter(one => one).length;
    square.style.background = methods[i].colour;
    row.insertCell().append(square, methods[i].label);
    row.insertCell().textContent = isFinite(cell.medians[i]) ? duration(cell.medians[i]) : count + " of " + all + " get there";
    row.insertCell().textContent = isFinite(cell.medians[i]) && i !== cell.winner ? "× " + digits(cell.medians[i] / cell.time) : "";
  }
  const seeds = "first on " + cell.first + " of " + cell.there + " seeds; " + (cell.decided ? "decided" : "not decided");
  tip.replaceChildren(line("a gradient " + duration(gradient) + ", a message " + duration(message)), table, line(seeds));
  tip.hidden = false;
  const box = $("map").parentElement.getBoundingClientRect(), wide = tip.offsetWidth;
  const x = (pointer?.clientX ?? box.left + box.width / 2) - box.left, y = (pointer?.clientY ?? box.top + box.height / 2) - box.top;
  tip.style.left = Math.max(0, Math.min(box.width - wide, x + 16 + wide > box.width ? x - wide - 14 : x + 16)) + "px";
  tip.style.top = Math.max(0, y - tip.offsetHeight - 10) + "px";
}

function offered() {  // the sliders and buttons say what the prices are
  for (const [key, span, , words] of SLIDERS) {
    const [low, high] = pricing.spans[span];
    $("price-" + key).value = 1000 * Math.log(price[key] / low) / Math.log(high / low);
    $("price-" + key).setAttribute("aria-valuetext", words(price[key]));
    $("said-" + key).textContent = words(price[key]);
  }
  const place = placeName();
  for (const button of $("places").children) button.setAttribute("aria-pressed", String(button.textContent === place));
}
function offerPrices() {
  if (!pricing) return;
  $("s-won").hidden = false;
  $("won-shown").hidden = Boolean(pricing.why);
  for (const id of ["won-slider", "won-target"]) $(id).hidden = Boolean(pricing.why);
  $("won-metric").parentElement.hidden = Boolean(pricing.why);
  $("won-why").textContent = pricing.why ? "There is no map: " + pricing.why + "." : "";
  if (pricing.why) return;
  $("won-note").textContent = pricing.exact + " A message is one frame to a neighbour, a gradient that of one sample. A lead is decided if the 95 % interval of the paired ratios to every other method excludes 1; " +
    "a run that did not get there counts in it with what it had taken when it ended, as it would have taken more, and one that diverged or failed with the largest ratio that there is. Click into the map to move the prices there.";
  const put = prices => { [price.gradient, price.message, price.link] = prices; offered(); };
  for (const [name, prices] of Object.entries(pricing.places)) {
    const button = document.createElement("button");
    button.type = "button"; button.textContent = name;
    button.addEventListener("click", () => { put(prices); judge(); });
    $("places").append(button);
  }
  let waiting = false;
  for (const [key, span, words] of SLIDERS) {
    const label = document.createElement("label"), output = document.createElement("output"), slider = document.createElement("input");
    Object.assign(slider, { type: "range", id: "price-" + key, min: 0, max: 1000, step: "any" });
    output.id = "said-" + key;
    label.append(words, output, slider);
    $("prices").append(label);
    slider.addEventListener("input", () => {
      const [low, high] = pricing.spans[span];
      price[key] = Number((low * (high / low) ** (slider.value / 1000)).toPrecision(3));
      offered();
      if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; judge(); }); }
    });
  }
  for (const kind of ["svg", "png"]) $("save-" + kind).addEventListener("click", () => {
    if (survey) Plotly.downloadImage(drawnMap(methods, survey, { dark: false, narrow: false, saved: true }), { format: kind, width: 900, height: 680, scale: kind === "png" ? 2 : 1, filename: "who-wins-where" });
  });
  put(Object.values(pricing.places)[2] ?? Object.values(pricing.places)[0]);
}
