// Bars: the cost of reaching a target, and the final bills.

// What is said beside a bar: never infinity, but of how many runs it can be told.
function saidOf(row) {
  const part = row.reached + " of " + row.runs;
  if (!row.known) return "not recorded";
  if (!isFinite(row.middle)) return row.reached ? part + " reached" : "not reached";
  return si(row.middle) + (row.reached < row.runs ? " (" + part + " reached)" : "");
}

function bars(holder, costs, spent, lost) {  // a small chart of horizontal bars for each cost; `lost` of a group count as infinitely dear
  const groups = facts.groups.filter(group => !state.hidden.has(group.label));
  const names = groups.map(group => plain(group.label)), positions = groups.map((_, i) => i);
  costs.forEach((cost, number) => {
    let chart = holder.children[number];
    if (!chart) holder.append(chart = document.createElement("div"));
    const rows = groups.map(group => {
      const told = group.runs.map(run => spent(run, cost)).concat(Array(lost(group)).fill(Infinity));
      const all = ascending(told.filter(value => !Number.isNaN(value)));
      return { known: all.length > 0, runs: told.length, reached: all.filter(isFinite).length, middle: quantile(all, .5), low: quantile(all, .25), high: quantile(all, .75) };
    });
    const most = Math.max(0, ...rows.map(row => isFinite(row.high) ? row.high : isFinite(row.middle) ? row.middle : 0));
    const axis = facts.axes[cost];
    const partly = rows.some(row => row.reached < row.runs), edge = most ? most / (partly ? .55 : .74) : 1;
    chart.style.height = 64 + (groups.length > 12 ? 20 : 27) * groups.length + "px";
    Plotly.react(chart, [{ type: "bar", orientation: "h", y: positions, x: rows.map(row => isFinite(row.middle) ? row.middle : 0), width: .62,
      marker: { color: groups.map(group => group.line.color) }, customdata: names, text: rows.map(saidOf), textposition: "none",
      error_x: { visible: rows.some(row => row.runs > 1), color: facts.neutral, thickness: 1.5, width: 4, symmetric: false,
        array: rows.map(row => isFinite(row.high) ? row.high - row.middle : 0), arrayminus: rows.map(row => isFinite(row.middle) ? row.middle - row.low : 0) },
      hovertemplate: "<b>%{customdata}</b><br>%{text}<extra></extra>" },
    { type: "scatter", mode: "text", x: rows.map(() => edge), y: positions, textposition: "middle left", textfont: { size: 12 }, hoverinfo: "skip", cliponaxis: false,
      text: rows.map(saidOf) }],
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
  }, group => group.failed);
}
function ledger() {
  bars($("ledger"), facts.bill, (run, cost) => {
    const spent = column(run, cost);
    return spent ? spent[spent.length - 1] : NaN;
  }, () => 0);
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
const TARGETS = ["", "won-"];  // the same target can be moved in two places
function aim(metric) {
  goal.metric = metric;
  span = spanOf(metric);
  for (const where of TARGETS) { $(where + "metric").value = metric; $(where + "sign").textContent = grows(metric) ? "≥" : "≤"; }
  moved(facts.targets[metric] ?? targetAt(.5));
}
function moved(target, by) {
  goal.target = target;
  for (const where of TARGETS) {
    if (by !== where + "target") $(where + "target").value = Number(target.toPrecision(6));
    if (by !== where + "slider") $(where + "slider").value = 1000 * shareOf(target);
  }
  reach(); judge();
}
