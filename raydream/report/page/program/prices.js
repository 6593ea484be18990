// What runs would have taken at other prices, and who is first: as `raydream.studies` counts it.

const pricing = facts.pricing;
const PRICED = "priced";  // the column of simulated time, at the prices of the moment
const price = { gradient: 0, message: 0, link: 0 };  // seconds, seconds, bytes per second

function spentAt(one, i) {  // by the record i of a run: the calls of one agent, the rounds, the bytes on one link
  const [calls, rounds, sent] = pricing.counted.map(name => column(one.run, name)[i]);
  return [calls / one.agents, rounds, sent / one.links];
}
const took = (spent, at) => spent[0] * at.gradient + spent[1] * at.message + spent[2] / at.link;

function priceRuns() {  // simulated time of every record
  for (const group of pricing.runs) for (const one of group) {
    if (one.run === null) continue;
    const [calls, rounds, sent] = pricing.counted.map(name => column(one.run, name));
    unpacked.set(one.run + " " + PRICED, calls.map((_, i) => took([calls[i] / one.agents, rounds[i], sent[i] / one.links], price)));
  }
}

// What each run of the methods in sight had spent at the target, else at its end: by method and seed.
function reaching() {
  const shown = facts.groups.map((group, i) => ({ label: group.label, colour: group.line.color, runs: pricing.runs[i] })).filter(group => !state.hidden.has(group.label) && group.runs.length);
  const seeds = [...new Set(shown.flatMap(group => group.runs.map(one => one.seed)))];
  return shown.map(group => ({ ...group, of: seeds.map(seed => {
    const one = group.runs.find(run => run.seed === seed);
    if (!one) return null;
    const y = one.run === null ? null : column(one.run, goal.metric);
    const i = y ? y.findIndex(value => reaches(goal.metric, value, goal.target)) : -1;
    if (i < 0 && (one.lost || !y)) return { spent: null, reached: false };
    return { spent: spentAt(one, i < 0 ? facts.packed[one.run].rows - 1 : i), reached: i >= 0 };
  }) }));
}

function medianOf(times) {  // of those that there are; few numbers, so they are sorted by insertion
  const ordered = [];
  for (const time of times) {
    if (Number.isNaN(time)) continue;
    let i = ordered.length;
    while (i > 0 && ordered[i - 1] > time) { ordered[i] = ordered[i - 1]; i--; }
    ordered[i] = time;
  }
  return quantile(ordered, .5);
}

// Whether one method leads another, seed by seed: by the interval of the ratios, with what runs had taken at least.
function leads(own, least) {
  const logs = [];
  let never = 0;
  for (let s = 0; s < own.length; s++) {
    if (Number.isNaN(own[s]) || Number.isNaN(least[s])) continue;
    if (!isFinite(own[s]) || !(own[s] > 0) || !(least[s] > 0)) return false;
    if (least[s] === Infinity) never++; else logs.push(Math.log(least[s]) - Math.log(own[s]));
  }
  const largest = logs.length ? Math.max(0, ...logs) : Math.log(pricing.never);
  for (; never; never--) logs.push(largest);
  if (logs.length < 2) return false;
  let middle = 0, squares = 0;
  for (const one of logs) middle += one / logs.length;
  for (const one of logs) squares += (one - middle) ** 2;
  return middle > pricing.reach[logs.length] * Math.sqrt(squares / (logs.length - 1));
}

// Who is first at some prices, by the median over seeds; the order of methods, and what decides it.
function judged(methods, at) {
  const reached = [], least = [];
  for (const method of methods) {
    const mine = [], atLeast = [];
    for (const one of method.of) {
      const time = one === null ? NaN : one.spent === null ? Infinity : took(one.spent, at);
      atLeast.push(time);
      mine.push(one !== null && !one.reached ? Infinity : time);
    }
    reached.push(mine); least.push(atLeast);
  }
  const medians = reached.map(medianOf);
  let winner = 0, second = -1;
  for (let i = 1; i < medians.length; i++) {
    if (medians[i] < medians[winner]) { second = winner; winner = i; } else if (second < 0 || medians[i] < medians[second]) second = i;
  }
  const time = medians[winner], own = reached[winner];
  if (!isFinite(time)) return { winner: -1, second: -1, time, medians, reached, least };
  let first = 0, there = 0, decided = true;
  for (let s = 0; s < own.length; s++) {
    let known = true, leading = isFinite(own[s]);
    for (let i = 0; i < reached.length; i++) { if (Number.isNaN(reached[i][s])) known = false; if (i !== winner && !(own[s] <= least[i][s])) leading = false; }
    if (known) { there++; if (leading) first++; }
  }
  const undecided = [];
  for (let i = 0; i < reached.length; i++) if (i !== winner && !leads(own, least[i])) { decided = false; undecided.push(i); }
  if (second >= 0 && !isFinite(medians[second])) second = -1;
  return { winner, second, time, ratio: second < 0 ? Infinity : medians[second] / time, first, there, decided, undecided, medians, reached, least };
}

// ------------------------------------------------------------ words

const digits = value => String(Number(value.toPrecision(3)));
function duration(seconds) {
  for (const [unit, size] of [["days", 86400], ["h", 3600], ["min", 60], ["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) if (seconds >= size * .9995) return digits(seconds / size) + " " + unit;
  return digits(seconds / 1e-9) + " ns";
}
function pace(speed) {
  for (const [unit, size] of [["GB/s", 1e9], ["MB/s", 1e6], ["kB/s", 1e3]]) if (speed >= size * .9995) return digits(speed / size) + " " + unit;
  return digits(speed) + " B/s";
}
const placeName = () => Object.entries(pricing.places).find(([, prices]) => prices.every((value, i) => Math.abs(value / Object.values(price)[i] - 1) < 1e-6))?.[0];
const aimed = () => facts.metrics[goal.metric].short + (grows(goal.metric) ? " ≥ " : " ≤ ") + Number(goal.target.toPrecision(4));

function verdict(methods, found) {
  const place = placeName();
  const where = place ? place[0].toUpperCase() + place.slice(1) + ":" : "At these prices";
  const name = i => methods[i].label;
  if (found.winner < 0) {
    const some = methods.filter(method => method.of.some(one => one?.reached)).map(method => method.label);
    return "No method gets to " + aimed() + " by the median of its seeds" + (some.length ? "; " + some.join(", ") + " on some." : ".");
  }
  const lead = found.second < 0 ? "; no other gets there" : ", " + digits(found.ratio) + " times as fast as " + name(found.second);
  const seeds = found.there > 1 ? "; first on " + found.first + " of " + found.there + " seeds" : "";
  if (found.decided) return where + " " + name(found.winner) + " gets to " + aimed() + " first, after " + duration(found.time) + lead + seeds + ".";
  const ended = (i, s) => found.reached[i][s] === Infinity && found.least[i][s] < found.time;
  const open = found.undecided.filter(i => found.least[i].some((_, s) => ended(i, s))).map(name);
  const early = open.length ? " Runs of " + open.join(", ") + " ended before that time without getting there." : "";
  const single = found.there < 2 ? "; one seed decides nothing" : seeds;
  return where + " it is not decided who gets to " + aimed() + " first: " + name(found.winner) + " has the least median, " + duration(found.time) + lead +
    "; undecided against " + found.undecided.map(name).join(", ") + single + "." + early;
}
