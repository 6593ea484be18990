// What every part of the page uses: the facts, the recorded columns unpacked, and a little arithmetic.

const $ = id => document.getElementById(id);
const facts = JSON.parse($("facts").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const touch = matchMedia("(pointer: coarse)").matches;
const BUCKETS = 900;  // stretches of a long curve, of which the least and the greatest value are drawn
const GRID = 400;     // places of a band
const settings = { responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "",
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] };  // none that sends data away
const plain = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

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
