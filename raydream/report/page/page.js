"use strict";
(async () => {
  const $ = id => document.getElementById(id);
  const facts = JSON.parse($("facts").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const BUCKETS = 900;  // stretches of a long curve, of which the least and the greatest value are drawn
  const GRID = 400;     // places of a band
  const settings = { responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "",
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] };  // none that sends data away
  const plain = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  // ------------------------------------------------------------ unpack

  async function inflated(id) {
    const text = atob($(id).textContent), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  }

  let body;
  try {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(await inflated("engine"));
    document.head.append(script);
    body = new Uint8Array(await inflated("columns"));
    for (const id of ["engine", "columns"]) $(id).remove();
  } catch (error) {
    $("waiting").textContent = "This browser is too old to unpack the figures (" + error.message + "); the tables below are complete.";
    return;
  }
  $("waiting").remove();

  const unpacked = new Map();
  function column(run, name) {
    const key = run + " " + name;
    if (!unpacked.has(key)) unpacked.set(key, unpack(facts.packed[run], name));
    return unpacked.get(key);
  }
  function unpack(run, name) {
    const place = run.columns[name];
    if (!place) return null;
    const [at, kind] = place, n = run.rows, size = kind === "f4" ? 4 : 8;
    const bytes = new Uint8Array(n * size);
    for (let k = 0; k < size; k++) for (let i = 0; i < n; i++) bytes[i * size + k] = body[at + k * n + i];
    const values = Float64Array.from(size === 4 ? new Float32Array(bytes.buffer) : new Float64Array(bytes.buffer));
    if (kind === "step" || kind === "micro") {
      for (let i = 1; i < n; i++) values[i] += values[i - 1];
      if (kind === "micro") for (let i = 0; i < n; i++) values[i] /= 1e6;
    }
    return values;
  }

  // ------------------------------------------------------------ numbers

  function quantile(ordered, share) {  // infinity is a value like any other
    if (!ordered.length) return NaN;
    const place = (ordered.length - 1) * share, low = ordered[Math.floor(place)], high = ordered[Math.ceil(place)];
    return low === high ? low : low + (place - Math.floor(place)) * (high - low);
  }
  const ascending = values => values.sort((a, b) => a - b);
  function after(values, x) {  // how many values are at most x
    let low = 0, high = values.length;
    while (low < high) { const middle = (low + high) >> 1; if (values[middle] <= x) low = middle + 1; else high = middle; }
    return low;
  }
  function si(value) {
    if (value === 0 || !isFinite(value)) return String(value);
    if (Math.abs(value) < .01) return value.toExponential(1);
    const power = Math.min(4, Math.max(0, Math.floor(Math.log10(Math.abs(value)) / 3)));
    return String(Number((value / 1000 ** power).toPrecision(3))) + ["", "k", "M", "G", "T"][power];
  }
  const grows = metric => facts.metrics[metric].better === "more";
  const reaches = (metric, value, target) => grows(metric) ? value >= target : value <= target;
  const counted = (metric, value) => !facts.metrics[metric].diverges || !Number.isNaN(value) ? value : grows(metric) ? -Infinity : Infinity;
  const drawable = value => isFinite(value) ? value : null;

  // ------------------------------------------------------------ convergence

  const state = { ...facts.first, logX: false, logY: facts.metrics[facts.first.y].log, promise: false, hidden: new Set() };

  function curve(run) {  // without records from before this axis was counted
    const x = column(run, state.x), y = column(run, state.y), from = x.findIndex(value => !Number.isNaN(value));
    return from > 0 ? [x.subarray(from), y.subarray(from)] : [x, y];
  }

  function exact(run, range) {  // one run: every record in sight, or the extremes of each stretch
    const [x, y] = curve(run);
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

  function places(runs, range) {  // every record's place in sight if those are few, else a grid
    let low = Infinity, high = -Infinity, least = Infinity;
    const columns = runs.map(run => curve(run)[0]);
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
    if (state.logX) low = Math.max(low, least);
    const grid = [];
    for (let i = 0; i <= GRID; i++) grid.push(state.logX && low > 0 ? low * (high / low) ** (i / GRID) : low + (high - low) * i / GRID);
    return grid;
  }

  function band(runs, range) {
    const grid = places(runs, range), out = { x: grid, y: [], low: [], high: [] };
    const curves = runs.map(curve);
    for (const at of grid) {
      const here = [];
      for (const [x, y] of curves) {
        const i = after(x, at) - 1;
        if (i < 0 || at > x[x.length - 1]) continue;
        const value = counted(state.y, y[i]);
        if (!Number.isNaN(value)) here.push(value);
      }
      ascending(here);
      out.y.push(drawable(quantile(here, .5))); out.low.push(drawable(quantile(here, .25))); out.high.push(drawable(quantile(here, .75)));
    }
    return out;
  }

  const having = group => group.runs.filter(run => column(run, state.x) && column(run, state.y));

  function traces(range) {
    const made = [];
    for (const group of facts.groups) {
      const runs = having(group);
      if (!runs.length) continue;
      const visible = !state.hidden.has(group.label), line = runs.length > 1 ? band(runs, range) : exact(runs[0], range);
      if (runs.length > 1) {
        const edge = { x: line.x, mode: "lines", line: { width: 0 }, hoverinfo: "skip", visible, showlegend: false };
        made.push({ ...edge, y: line.low, meta: "low" }, { ...edge, y: line.high, meta: "high", fill: "tonexty", fillcolor: group.line.color + "2e" });
      }
      const seeds = runs.length > 1 ? " (median of " + runs.length + " runs)" : "";
      made.push({ x: line.x, y: line.y, mode: line.x.length > 1 ? "lines" : "markers", marker: { color: group.line.color, size: 8 }, line: { ...group.line, width: 2 }, name: plain(group.label), meta: "line", visible, showlegend: false,
        hovertemplate: "<b>" + plain(group.label) + "</b>" + seeds + "<br>" + facts.axes[state.x].name + ": %{x:.6~g}<br>" + facts.metrics[state.y].name + ": %{y:.6g}" +
          (group.configuration ? "<br>" + group.configuration : "") + "<extra></extra>" });
    }
    if (state.promise && promisable()) {
      const { metric, values, costs } = facts.promise;
      made.push({ x: costs[state.x], y: values, mode: "lines", line: { color: facts.neutral, dash: "dot", width: 2 }, showlegend: false,
        name: "theorem", hovertemplate: "promised by the theorem:<br>" + facts.metrics[metric].short + " ≤ %{y:.4g} within %{x:.4s}<extra></extra>" });
    }
    return made;
  }
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
    if (facts.remark) notes.push(facts.remark);
    $("note").textContent = notes.join(" ");
    return { template: template(), margin: { l: 58, r: 16, t: 26, b: 46 }, hovermode: "closest", dragmode: touch ? false : "zoom",
      xaxis: { title: { text: x.name }, type: logX ? "log" : "linear", ...x.ticks, autorange: true },
      yaxis: { title: { text: y.name }, type: logY ? "log" : "linear", ...y.ticks, nticks: logY ? 5 : 0, autorange: true } };
  }
  const template = () => facts.templates[dark.matches ? "dark" : "light"];

  function inSight() {  // the range of x that is shown, with room to pan
    const axis = $("convergence").layout.xaxis;
    if (axis.autorange || !axis.range) return null;
    const margin = (axis.range[1] - axis.range[0]) / 2;
    const ends = [axis.range[0] - margin, axis.range[1] + margin];
    return axis.type === "log" ? ends.map(end => 10 ** end) : ends;
  }
  const redraw = () => Plotly.react("convergence", traces(), layout(), settings);
  const refine = () => Plotly.react("convergence", traces(inSight()), $("convergence").layout, settings);

  function choices(select, options, chosen) {
    for (const [value, text] of options) {
      const option = document.createElement("option");
      option.value = value; option.textContent = text; option.selected = value === chosen;
      select.append(option);
    }
  }
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
    refine(); reach(); ledger();
  }

  // ------------------------------------------------------------ bars

  function bars(holder, costs, spent) {  // a small chart of horizontal bars for each cost
    const groups = facts.groups.filter(group => !state.hidden.has(group.label));
    const names = groups.map(group => plain(group.label)), positions = groups.map((_, i) => i);
    costs.forEach((cost, number) => {
      let chart = holder.children[number];
      if (!chart) holder.append(chart = document.createElement("div"));
      const rows = groups.map(group => {
        const all = ascending(group.runs.map(run => spent(run, cost)));
        return { runs: all.length, reached: all.filter(isFinite).length, middle: quantile(all, .5), low: quantile(all, .25), high: quantile(all, .75) };
      });
      const most = Math.max(0, ...rows.map(row => isFinite(row.high) ? row.high : isFinite(row.middle) ? row.middle : 0));
      const axis = facts.axes[cost];
      const partly = rows.some(row => row.reached < row.runs), edge = most ? most / (partly ? .55 : .74) : 1;
      chart.style.height = 64 + (groups.length > 12 ? 20 : 27) * groups.length + "px";
      Plotly.react(chart, [{ type: "bar", orientation: "h", y: positions, x: rows.map(row => isFinite(row.middle) ? row.middle : 0), width: .62,
        marker: { color: groups.map(group => group.line.color) }, customdata: names,
        error_x: { visible: rows.some(row => row.runs > 1), color: facts.neutral, thickness: 1.5, width: 4, symmetric: false,
          array: rows.map(row => isFinite(row.high) ? row.high - row.middle : 0), arrayminus: rows.map(row => isFinite(row.middle) ? row.middle - row.low : 0) },
        hovertemplate: "<b>%{customdata}</b><br>%{x:.6~g}<extra></extra>" },
      { type: "scatter", mode: "text", x: rows.map(() => edge), y: positions, textposition: "middle left", textfont: { size: 12 }, hoverinfo: "skip", cliponaxis: false,
        text: rows.map(row => isFinite(row.middle) ? si(row.middle) + (row.reached < row.runs ? " (" + row.reached + "/" + row.runs + ")" : "")
          : row.reached ? "reached by " + row.reached + "/" + row.runs : "not reached") }],
      { template: template(), margin: { l: 8, r: 4, t: 8, b: 40 }, showlegend: false, dragmode: false,
        xaxis: { title: { text: axis.short }, ...axis.ticks, nticks: 4, range: [0, edge], fixedrange: true, showticklabels: most > 0 },
        yaxis: { tickvals: positions, ticktext: names, range: [groups.length - .5, -.5], fixedrange: true, showgrid: false, zeroline: false, ticks: "outside", ticklen: 5, tickcolor: "rgba(0,0,0,0)" } },
      { ...settings, displayModeBar: false });
    });
  }

  const goal = { metric: state.y, target: null };
  function reach() {
    const when = new Map();
    bars($("reach"), facts.reach, (run, cost) => {
      if (!when.has(run)) { const y = column(run, goal.metric); when.set(run, y ? y.findIndex(value => reaches(goal.metric, value, goal.target)) : -1); }
      const spent = column(run, cost);
      const value = when.get(run) < 0 || !spent ? Infinity : spent[when.get(run)];
      return Number.isNaN(value) ? Infinity : value;
    });
  }
  function ledger() {
    bars($("ledger"), facts.bill, (run, cost) => {
      const spent = column(run, cost);
      return spent ? spent[spent.length - 1] : Infinity;
    });
  }

  let span = { low: 0, high: 1, log: false };
  function spanOf(metric) {  // from the best value to the worst start of any run
    const sign = grows(metric) ? -1 : 1;
    let low = Infinity, high = -Infinity;
    for (const group of facts.groups) for (const run of group.runs) {
      const y = column(run, metric);
      if (!y) continue;
      for (const value of y) if (isFinite(value) && sign * value < low) low = sign * value;
      const start = sign * y.find(isFinite);
      if (start > high) high = start;
    }
    if (sign < 0) [low, high] = [-high, -low];
    if (low === 0 && facts.metrics[metric].log) low = high * 1e-16;
    if (!(low < high)) high = low + Math.abs(low) || 1;
    return { low, high, log: low > 0 && high / low > 20 };
  }
  function targetAt(share) {
    return span.log ? span.low * (span.high / span.low) ** share : span.low + (span.high - span.low) * share;
  }
  function shareOf(target) {
    const share = span.log ? Math.log(Math.max(target, 1e-300) / span.low) / Math.log(span.high / span.low) : (target - span.low) / (span.high - span.low);
    return Math.min(1, Math.max(0, share));
  }
  function aim(metric) {
    goal.metric = metric;
    $("sign").textContent = grows(metric) ? "≥" : "≤";
    span = spanOf(metric);
    goal.target = facts.targets[metric] ?? targetAt(.5);
    $("target").value = Number(goal.target.toPrecision(6));
    $("slider").value = 1000 * shareOf(goal.target);
    reach();
  }

  // ------------------------------------------------------------ figures that were drawn beforehand

  const still = new Map();  // places that hold one, and the figure they hold
  function show(id, figure) {
    still.set(id, figure);
    const narrow = $(id).clientWidth < 480;
    const layout = structuredClone(figure.layout);
    layout.template = template();
    if (touch) layout.dragmode = false;
    if (id === "spectrum" || id === "mixing") layout.legend = { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: narrow ? 11 : 12 } };
    Plotly.react(id, structuredClone(figure.data), layout, { ...settings, displayModeBar: id === "network" ? false : undefined });
  }
  function gallery(name, items, showItem) {
    $("s-" + name).hidden = !items.length;
    if (!items.length) return;
    const select = $("which-" + name);
    choices(select, items.map((item, i) => [String(i), item.label]), "0");
    select.hidden = items.length < 2;
    select.addEventListener("change", () => showItem(items[Number(select.value)]));
    showItem(items[0]);
  }

  // ------------------------------------------------------------ begin

  choices($("x"), named(facts.axes), state.x);
  choices($("y"), named(facts.metrics), state.y);
  choices($("metric"), named(facts.metrics), goal.metric);
  $("log-y").checked = state.logY;
  $("promise-label").hidden = !promisable();
  legend();
  await redraw();
  $("convergence").on("plotly_relayout", change => {
    if (Object.keys(change).some(key => key.startsWith("xaxis.range") || key.startsWith("xaxis.autorange"))) refine();
  });
  aim(goal.metric);
  ledger();
  gallery("network", facts.networks, item => {
    $("network-facts").textContent = item.facts;
    for (const id of ["network", "spectrum", "mixing"]) show(id, item.figures[id]);
  });
  gallery("lyapunov", facts.lyapunov, item => { show("lyapunov", item.figure); stacked(); });
  gallery("distances", facts.distances, item => show("distances", item.figure));
  function stacked() { Plotly.relayout("lyapunov", { "yaxis.type": $("log-lyapunov").checked ? "log" : "linear", "yaxis.autorange": true }); }

  $("x").addEventListener("change", event => { state.x = event.target.value; $("promise-label").hidden = !promisable(); redraw(); });
  $("y").addEventListener("change", event => {
    state.y = event.target.value;
    state.logY = $("log-y").checked = facts.metrics[state.y].log;
    $("promise-label").hidden = !promisable();
    redraw();
  });
  $("log-x").addEventListener("change", event => { state.logX = event.target.checked; redraw(); });
  $("log-y").addEventListener("change", event => { state.logY = event.target.checked; redraw(); });
  $("promise").addEventListener("change", event => { state.promise = event.target.checked; if (state.promise) state.logX = $("log-x").checked = true; redraw(); });
  $("metric").addEventListener("change", event => aim(event.target.value));
  $("slider").addEventListener("input", event => {
    goal.target = Number(targetAt(event.target.value / 1000).toPrecision(4));
    $("target").value = goal.target;
    reach();
  });
  $("target").addEventListener("input", event => {
    if (event.target.value === "" || !isFinite(event.target.valueAsNumber)) return;
    goal.target = event.target.valueAsNumber;
    $("slider").value = 1000 * shareOf(goal.target);
    reach();
  });
  $("log-lyapunov").addEventListener("change", stacked);
  dark.addEventListener("change", () => { redraw(); reach(); ledger(); for (const [id, figure] of still) show(id, figure); });

  for (const [number, heading] of [...document.querySelectorAll("#runs th")].entries()) {
    let up = false;
    heading.firstChild.addEventListener("click", () => {
      up = !up;
      const rows = [...document.querySelectorAll("#runs tbody tr")], key = row => row.children[number]?.dataset.sort ?? "";
      rows.sort((a, b) => (up ? 1 : -1) * key(a).localeCompare(key(b), "en", { numeric: true }) );
      const numbers = rows.every(row => key(row) === "" || !Number.isNaN(Number(key(row))) || key(row) === "nan");
      if (numbers) rows.sort((a, b) => (up ? 1 : -1) * ((Number(key(a)) || 0) - (Number(key(b)) || 0)));
      document.querySelector("#runs tbody").append(...rows);
    });
  }
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const text = button.parentElement.nextElementSibling.textContent;
      try { await navigator.clipboard.writeText(text); button.textContent = "copied"; }
      catch { getSelection().selectAllChildren(button.parentElement.nextElementSibling); button.textContent = "selected"; }
    });
  }
  performance.mark("ready");
  document.documentElement.dataset.ready = "true";
})();
