// The table of what it took to reach a target, in LaTeX and CSV, as `raydream.report.tables.reach` has it.

const aimedAt = facts.reaching;
const magnitude = value => value ? Number(Math.abs(value).toExponential().split("e")[1]) : 0;
function fixedTo(value, decimals) {
  const text = value.toFixed(decimals), bare = Number(text) === 0 ? text.replace("-", "") : text, [whole, rest] = bare.split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? "." + rest : "");
}
function rounded(middle, low, high, whole) {
  let power = magnitude(middle);
  if (power >= -3 && power <= 5) power = 0;
  const shifted = value => power >= 0 ? value / 10 ** power : value * 10 ** -power;
  const scaled = [middle, low, high].map(shifted), spread = scaled[2] - scaled[1];
  const apart = (isFinite(low) || isFinite(high)) && !(low === high && high === middle);
  let finest = 3 - magnitude(scaled[0]);
  if (apart && isFinite(spread) && spread > 0) finest = Math.max(1 - magnitude(spread), 1 - magnitude(scaled[0]));
  let decimals = Math.max(0, Math.min(finest, 5 - magnitude(scaled[0])));
  if (whole && !power) decimals = 0;
  const digits = scaled.map(value => isFinite(value) ? fixedTo(value, decimals) : "");
  return apart ? { middle: digits[0], low: digits[1] || "?", high: digits[2] || "∞", power } : { middle: digits[0], power };
}
function measured(number, mark) {
  const tex = text => text.replace(/,/g, "{,}"), digits = tex(number.middle);
  const shown = mark === "best" ? "\\mathbf{" + digits + "}" : digits + (mark === "tied" ? "^{\\dagger}" : "");
  const times = number.power ? "\\cdot10^{" + number.power + "}" : "";
  if (!number.low) return "$" + shown + times + "$";
  const ends = number.high === "∞" ? "[" + tex(number.low) + ", \\infty)" : "[" + tex(number.low) + ", " + tex(number.high) + "]";
  return "$" + shown + "$ {\\scriptsize$" + ends + "$}" + (times ? "${}" + times + "$" : "");
}
function decidedBy(first, second) {  // whether an interval of the paired differences excludes equality
  const ratio = Math.min(...first, ...second) > 0, logs = [];
  for (let i = 0; i < first.length; i++) {
    if (!isFinite(first[i]) || !isFinite(second[i])) return false;
    logs.push(ratio ? Math.log(first[i] / second[i]) : first[i] - second[i]);
  }
  if (logs.length < 2) return false;
  const middle = logs.reduce((a, b) => a + b, 0) / logs.length;
  const reach = aimedAt.student[logs.length] * Math.sqrt(logs.reduce((sum, one) => sum + (one - middle) ** 2, 0) / (logs.length - 1));
  return middle - reach > 0 || middle + reach < 0;
}
function reachTable() {  // by method: how many got there, and a cell for each cost
  const groups = facts.groups.filter(group => !state.hidden.has(group.label)), costs = Object.keys(aimedAt.heads);
  const spent = groups.map(group => group.runs.map(run => {
    const y = column(run, goal.metric), at = y ? y.findIndex(value => reaches(goal.metric, value, goal.target)) : -1;
    return costs.map(cost => { const bill = at < 0 ? Infinity : column(run, cost)?.[at] ?? Infinity; return Number.isNaN(bill) ? Infinity : bill; });
  }));
  const columns = costs.map((cost, k) => {
    const bills = groups.map((group, i) => spent[i].map(one => one[k]).concat(Array(group.failed).fill(Infinity)));
    const quartiles = bills.map(all => { const sorted = ascending([...all]); return [.5, .25, .75].map(share => quantile(sorted, share)); });
    const middles = quartiles.map(one => one[0]), best = middles.indexOf(Math.min(...middles)), several = middles.filter(isFinite).length > 1;
    return groups.map((group, i) => {
      const [middle, low, high] = quartiles[i];
      if (!isFinite(middle)) { const text = bills[i].some(isFinite) ? "not reached by half" : "not reached"; return { tex: text, values: [null, isFinite(low) ? low : null, null, ""] }; }
      const seeds = aimedAt.seeds[group.label], mine = aimedAt.seeds[groups[best].label], known = !seeds.includes(null) && !mine.includes(null);
      const shared = known ? mine.filter(seed => seeds.includes(seed)) : [];
      const open = !decidedBy(shared.map(seed => bills[best][mine.lastIndexOf(seed)]), shared.map(seed => bills[i][seeds.lastIndexOf(seed)]));
      const mark = !several ? "" : i === best ? "best" : open ? "tied" : "";
      return { tex: measured(rounded(middle, low, high, aimedAt.whole[cost]), mark), values: [middle, isFinite(low) ? low : null, isFinite(high) ? high : null, mark] };
    });
  });
  return { costs, rows: groups.map((group, i) => ({ label: group.label, there: spent[i].filter(one => one.some(isFinite)).length, of: group.runs.length + group.failed, cells: columns.map(cells => cells[i]) })) };
}
function reachTex() {
  const { costs, rows } = reachTable(), usual = goal.metric === facts.first.y && goal.target === facts.targets[goal.metric];
  const again = aimedAt.again + (usual ? "" : aimedAt.again.startsWith("rd.") ? "" : " --target " + sixDigits(goal.target) + " --metric " + goal.metric);
  const note = "Made by raydream; again:\n" + again + "\n" + aimedAt.runs, spread = costs.length + 2 <= aimedAt.narrow ? "table" : "table*";
  const lines = note.split("\n").map(line => ("% " + line).trimEnd());
  const text = lines.join("\n") + "\n" + aimedAt.needs + ["\\begin{" + spread + "}[t]", "\\centering\\small", "\\caption{" + aimedAt.aim[goal.metric] + sixDigits(goal.target) + aimedAt.caption + "}",
    "\\label{tab:reach}\\vspace{3pt}", "\\begin{tabular}{@{}ll" + "r".repeat(costs.length) + "@{}}", "\\toprule", ["method", "reached", ...Object.values(aimedAt.heads)].join(" & ") + " \\\\", "\\midrule",
    ...rows.map(row => [aimedAt.labels[row.label], row.there + " of " + row.of, ...row.cells.map(cell => cell.tex)].join(" & ") + " \\\\"), "\\bottomrule", "\\end{tabular}", "\\end{" + spread + "}"].join("\n") + "\n";
  return text;
}
function reachCsv() {
  const { costs, rows } = reachTable();
  return asCsv([["method", "reached", "seeds", ...costs.flatMap(cost => aimedAt.keys[cost])], ...rows.map(row => [row.label, row.there, row.of, ...row.cells.flatMap(cell => cell.values)])]);
}
special.convergence = () => {  // the lines that are seen, as `raydream.report.paper.numbers.curves` has them
  const rows = [["method", "runs", state.x, state.y, "low", "high"]];
  for (const group of facts.groups) {
    const runs = having(group);
    if (!runs.length || state.hidden.has(group.label)) continue;
    const line = runs.length > 1 ? band(runs, state, inSight()) : exact(runs[0], state, inSight());
    line.x.forEach((x, i) => rows.push([group.label, runs.length, x, line.y[i], line.low?.[i] ?? null, line.high?.[i] ?? null]));
  }
  return rows;
};
$("s-reach").querySelector(".bar").append(saver("LaTeX", "What it took to reach this target, for booktabs", () => keep("reach.tex", reachTex())),
  saver("CSV", "The same in numbers", () => keep("reach.csv", reachCsv(), "text/csv")));
