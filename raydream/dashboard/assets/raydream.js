"use strict";
// What pages do without asking the server.
window.dash_clientside = window.dash_clientside || {};
window.dash_clientside.raydream = {
  // The values of the page's controls go into the address, so that it can be kept, sent and opened again.
  keep() {
    const pairs = new URLSearchParams();
    for (const { id, value } of window.dash_clientside.callback_context.inputs_list[0] || []) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== null && one !== undefined && one !== "" && !Number.isNaN(one)) pairs.append(id.name, one);
      }
    }
    const said = pairs.toString();
    history.replaceState(history.state, "", location.pathname + (said ? "?" + said : ""));
    return said;
  },

  // The range of x that the reader has zoomed a figure to, with the axis that it belongs to.
  zoomed(moved, x, scale_x) {
    if (moved && "xaxis.range[0]" in moved) return { range: [moved["xaxis.range[0]"], moved["xaxis.range[1]"]], x, scale_x };
    return moved && moved["xaxis.autorange"] ? null : window.dash_clientside.no_update;
  },

  // Whether the reader's screen is dark, now and when it changes.
  scheme() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => window.dash_clientside.set_props("dark", { data: dark.matches }));
    return dark.matches;
  },
};
