// The recorded columns unpacked, and a little arithmetic.

const BUCKETS = 900;  // stretches of a long curve, of which the least and the greatest value are drawn
const GRID = 400;     // places of a band
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
  for (let k = 0; k < size; k++) for (let i = 0; i < n; i++) bytes[i * size + k] = data[at + k * n + i];
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
