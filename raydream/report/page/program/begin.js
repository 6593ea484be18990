// Figures that were drawn beforehand, and everything put in its place.

function place(id, figure) {
  const legend = { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: $(id).clientWidth < 480 ? 11 : 12 } };
  show($(id), figure, {
    layout: id === "spectrum" || id === "mixing" ? { legend } : {},
    settings: { displayModeBar: id === "network" ? false : undefined },
  });
}
function offerTheory() { $("promise-label").hidden = !promisable(); $("guide-label").hidden = !guiding().length; }
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
for (const where of TARGETS) choices($(where + "metric"), named(facts.metrics), goal.metric);
$("log-y").checked = state.logY;
offerTheory();
legend();
await redraw();
$("convergence").on("plotly_relayout", change => {
  if (Object.keys(change).some(key => key.startsWith("xaxis.range") || key.startsWith("xaxis.autorange"))) refine();
});
offerPrices();
aim(goal.metric);
ledger();
if (facts.standing.length) put($("standing"), facts.standing, { settings: { displayModeBar: false } });
gallery("network", facts.networks, item => {
  $("network-facts").textContent = item.facts;
  for (const id of ["network", "spectrum", "mixing"]) place(id, item.figures[id]);
});
gallery("lyapunov", facts.lyapunov, item => { place("lyapunov", item.figure); stacked(); });
gallery("distances", facts.distances, item => place("distances", item.figure));
function stacked() { Plotly.relayout("lyapunov", { "yaxis.type": $("log-lyapunov").checked ? "log" : "linear", "yaxis.autorange": true }); }

$("x").addEventListener("change", event => { state.x = event.target.value; offerTheory(); redraw(); });
$("y").addEventListener("change", event => {
  state.y = event.target.value;
  state.logY = $("log-y").checked = facts.metrics[state.y].log;
  offerTheory();
  redraw();
});
$("log-x").addEventListener("change", event => { state.logX = event.target.checked; redraw(); });
$("log-y").addEventListener("change", event => { state.logY = event.target.checked; redraw(); });
$("guide").addEventListener("change", event => { state.guide = event.target.checked; if (state.guide) state.logX = $("log-x").checked = true; redraw(); });
$("promise").addEventListener("change", event => { state.promise = event.target.checked; if (state.promise) state.logX = $("log-x").checked = true; redraw(); });
for (const where of TARGETS) {
  $(where + "metric").addEventListener("change", event => aim(event.target.value));
  $(where + "slider").addEventListener("input", event => moved(Number(targetAt(event.target.value / 1000).toPrecision(4)), event.target.id));
  $(where + "target").addEventListener("input", event => {
    if (event.target.value !== "" && isFinite(event.target.valueAsNumber)) moved(event.target.valueAsNumber, event.target.id);
  });
}
$("log-lyapunov").addEventListener("change", stacked);
dark.addEventListener("change", () => { redraw(); reach(); ledger(); judge(); });
