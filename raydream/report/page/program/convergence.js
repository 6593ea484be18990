// The large figure: what was achieved against what was spent.

const state = { ...facts.first, logX: false, logY: facts.metrics[facts.first.y].log, promise: false, guide: false, hidden: new Set() };

function curve(run, view) {  // without records from before this axis was counted
  const x = column(run, view.x), y = column(run, view.y), from = x.findIndex(value => !Number.isNaN(value));
  return from > 0 ? [x.subarray(from), y.subarray(from)] : [x, y];
}

function exact(run, view, range) {  // one run: every record in sight, or the extremes of each stretch
  const [x, y] = curve(run, view);
  let first = 0, last = x.length - 1;
  if (range) { first = Math.max(0, after(x, range[0]) - 2); last = Math.min(last, after(x, range[1]) + 1); }
  const xs = [], ys = [], keep = i => { xs.push(x[i]); ys.push(drawable(y[i])); };
  if (last - first <= 2 * BUCKETS) {
    for (let i = first; i <= last; i++) keep(i);
    return { x: xs, y: ys };
  }
  keep(first);
  for (let b = 0; b < BUCKETS; b++) {
    const from = first + 1 + Math.floor(b * (last - first - 1) / BUCKETS), to = first + 1 + Math.floor((b + 1) * (last - first - 1) / BUCKETS);
    let least = -1, most = -1;
    for (let i = from; i < to; i++) {
      if (!isFinite(y[i])) continue;
      if (least < 0 || y[i] < y[least]) least = i;
      if (most < 0 || y[i] > y[most]) most = i;
    }
    if (least < 0) { if (from < to) keep(from); continue; }
    keep(Math.min(least, most));
    if (least !== most) keep(Math.max(least, most));
  }
  keep(last);
  return { x: xs, y: ys };
}

function places(runs, view, range) {  // every record's place in sight if those are few, else a grid
  let low = Infinity, high = -Infinity, least = Infinity;
  const columns = runs.map(run => curve(run, view)[0]);
  for (const x of columns) {
    low = Math.min(low, x[0]); high = Math.max(high, x[x.length - 1]);
    least = Math.min(least, x[Math.min(x.length - 1, after(x, 0))]);
  }
  if (range) { low = Math.max(low, range[0]); high = Math.min(high, range[1]); }
  const seen = new Set();
  for (const x of columns) {
    for (let i = Math.max(0, after(x, low) - 1); i < x.length && x[i] <= high && seen.size <= 2 * GRID; i++) seen.add(x[i]);
  }
  if (seen.size <= 2 * GRID) return ascending([...seen]);
  if (view.logX) low = Math.max(low, least);
  const grid = [];
  for (let i = 0; i <= GRID; i++) grid.push(view.logX && low > 0 ? low * (high / low) ** (i / GRID) : low + (high - low) * i / GRID);
  return grid;
}

function band(runs, view, range) {
  const grid = places(runs, view, range), out = { x: grid, y: [], low: [], high: [] };
  const curves = runs.map(run => curve(run, view));
  for (const at of grid) {
    const here = [];
    for (const [x, y] of curves) {
      const i = after(x, at) - 1;
      if (i < 0 || at > x[x.length - 1]) continue;
      const value = counted(view.y, y[i]);
      if (!Number.isNaN(value)) here.push(value);
    }
    ascending(here);
    out.y.push(drawable(quantile(here, .5))); out.low.push(drawable(quantile(here, .25))); out.high.push(drawable(quantile(here, .75)));
  }
  return out;
}

const having = (group, view = state) => group.runs.filter(run => column(run, view.x) && column(run, view.y));

function lines(view, name, format, range) {  // a line for each method, with a band where it has several runs
  const made = [];
  for (const group of facts.groups) {
    const runs = having(group, view);
    if (!runs.length) continue;
    const visible = !state.hidden.has(group.label), line = runs.length > 1 ? band(runs, view, range) : exact(runs[0], view, range);
    if (runs.length > 1) {
      const edge = { x: line.x, mode: "lines", line: { width: 0 }, hoverinfo: "skip", visible, showlegend: false };
      made.push({ ...edge, y: line.low, meta: "low" }, { ...edge, y: line.high, meta: "high", fill: "tonexty", fillcolor: group.line.color + "2e" });
    }
    const seeds = runs.length > 1 ? " (median of " + runs.length + " runs)" : "";
    made.push({ x: line.x, y: line.y, mode: line.x.length > 1 ? "lines" : "markers", marker: { color: group.line.color, size: 8 }, line: { ...group.line, width: 2 }, name: plain(group.label), meta: "line", visible, showlegend: false,
      hovertemplate: "<b>" + plain(group.label) + "</b>" + seeds + "<br>" + name + ": %{x:" + format + "}<br>" + facts.metrics[view.y].name + ": %{y:.6g}" +
        (group.configuration ? "<br>" + group.configuration : "") + "<extra></extra>" });
  }
  return made;
}
function traces(range) {
  const made = lines(state, facts.axes[state.x].name, ".6~g", range);
  if (state.guide) for (const one of guiding()) made.push({ x: one.x, y: one.y, mode: "lines", line: { color: facts.groups.find(group => group.label === one.label).line.color, dash: "dot", width: 1.3 },
    showlegend: false, meta: "guide", hovertemplate: plain(one.said).replace(/; /g, ";<br>") + "<extra></extra>" });
  if (state.promise && promisable()) {
    const { metric, values, costs } = facts.promise;
    made.push({ x: costs[state.x], y: values, mode: "lines", line: { color: facts.neutral, dash: "dot", width: 2 }, showlegend: false,
      name: "theorem", hovertemplate: "promised by the theorem:<br>" + facts.metrics[metric].short + " ≤ %{y:.4g} within %{x:.4s}<extra></extra>" });
  }
  return made;
}
const guiding = () => state.y === facts.guided ? (facts.guides[state.x] ?? []).filter(one => !state.hidden.has(one.label)) : [];
const promisable = () => facts.promise && facts.promise.costs[state.x] && state.y === facts.promise.metric;

function positives(which) {  // whether a logarithmic axis has anything to show, and how much it hides
  let some = false, none = 0;
  for (const group of facts.groups) for (const run of having(group)) for (const value of column(run, state[which])) {
    if (value > 0) some = true; else if (value <= 0) none++;
  }
  return { some, none };
}

function layout() {
  const x = facts.axes[state.x], y = facts.metrics[state.y], notes = [];
  let logX = state.logX, logY = state.logY;
  if (logY) {
    const { some, none } = positives("y");
    if (!some) { logY = false; notes.push("No value is positive, so the y axis stays linear."); }
    else if (none) notes.push(none.toLocaleString("en") + " values are 0 or below and cannot be shown on a log axis.");
  }
  if (logX && !positives("x").some) { logX = false; notes.push("Nothing was spent, so the x axis stays linear."); }
  const absent = facts.groups.filter(group => !having(group).length).map(group => group.label);
  if (absent.length) notes.push("Not defined for " + absent.join(", ") + ".");
  if (facts.groups.some(group => having(group).length > 1)) notes.push("Lines are medians over seeds, bands go from the lower to the upper quartile.");
  if (state.promise && promisable()) notes.push("The dotted line is what DREAM’s theorem promises at worst, each point with the parameters it prescribes.");
  if (state.guide && guiding().length) notes.push("Dotted slopes go through the last improvement of each line. " + guiding().map(one => one.said).join(" "));
  if (facts.remark) notes.push(facts.remark);
  $("note").textContent = notes.join(" ");
  return { template: template(), margin: { l: 58, r: 16, t: 26, b: 46 }, hovermode: "closest", dragmode: touch ? false : "zoom",
    xaxis: { title: { text: x.name }, type: logX ? "log" : "linear", ...x.ticks, autorange: true },
    yaxis: { title: { text: y.name }, type: logY ? "log" : "linear", ...y.ticks, nticks: logY ? 5 : 0, autorange: true } };
}

function inSight() {  // the range of x that is shown, with room to pan
  const axis = $("convergence").layout.xaxis;
  if (axis.autorange || !axis.range) return null;
  const margin = (axis.range[1] - axis.range[0]) / 2;
  const ends = [axis.range[0] - margin, axis.range[1] + margin];
  return axis.type === "log" ? ends.map(end => 10 ** end) : ends;
}
const redraw = () => Plotly.react("convergence", traces(), layout(), settings);
const refine = () => Plotly.react("convergence", traces(inSight()), $("convergence").layout, settings);

const named = axes => Object.entries(axes).map(([name, axis]) => [name, axis.name]);

function legend() {
  for (const group of facts.groups) {
    const button = document.createElement("button");
    button.type = "button"; button.title = "Click to hide or show, double-click to show it alone"; button.setAttribute("aria-pressed", "true");
    button.dataset.label = group.label;
    const dashes = { dash: "6 3", dot: "2 3", dashdot: "6 3 2 3", longdash: "10 4" }[group.line.dash] || "";
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), stroke = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [name, value] of Object.entries({ width: 24, height: 8, "aria-hidden": "true" })) svg.setAttribute(name, value);
    for (const [name, value] of Object.entries({ x1: 0, x2: 24, y1: 4, y2: 4, stroke: group.line.color, "stroke-width": 3, "stroke-dasharray": dashes })) stroke.setAttribute(name, value);
    svg.append(stroke);
    const name = document.createElement("span");
    name.textContent = group.label;
    button.append(svg, name);
    if (group.remark) {
      const remark = document.createElement("small");
      remark.className = "warn"; remark.textContent = group.remark;
      button.append(remark);
    }
    button.addEventListener("click", () => { if (!state.hidden.delete(group.label)) state.hidden.add(group.label); shown(); });
    button.addEventListener("dblclick", () => {
      const others = facts.groups.filter(other => other !== group).map(other => other.label);
      const alone = others.every(label => state.hidden.has(label)) && !state.hidden.has(group.label);
      state.hidden = new Set(alone ? [] : others);
      shown();
    });
    $("legend").append(button);
  }
  $("legend").hidden = facts.groups.length < 2;
}
function shown() {
  for (const button of $("legend").children) button.setAttribute("aria-pressed", String(!state.hidden.has(button.dataset.label)));
  refine(); reach(); ledger(); judge();
}
