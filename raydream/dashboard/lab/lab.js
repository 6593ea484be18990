"use strict";
// What the topology lab does without asking the server.
window.dash_clientside ??= {};
Object.assign((window.dash_clientside.raydream ??= {}), {
  // The button starts and stops; a tick goes on by one round, and stops at the last one.
  play(clicks, ticks, last, k, paused) {
    const by = window.dash_clientside.callback_context.triggered_id;
    if (by === "lab-play" && paused) return [k < last ? k : 0, false, "Pause"];
    if (by === "lab-tick" && !paused && k + 1 < last) return [k + 1, false, "Pause"];
    return [by === "lab-tick" ? last : Math.min(k, last), true, "Play"];
  },

  // Both figures go to their frame k; the figures that the server sends are at theirs already.
  show_round(k, sentences) {
    const now = { mode: "immediate", transition: { duration: 0 }, frame: { duration: 0, redraw: false } };
    for (const graph of document.querySelectorAll("#lab-agents .js-plotly-plot, #lab-fall .js-plotly-plot")) {
      try { Plotly.animate(graph, [String(k)], now).catch(() => {}); } catch { /* it is being drawn */ }
    }
    return (sentences || [])[k] || "";
  },
});
