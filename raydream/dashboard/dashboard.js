"use strict";
// What pages do without asking the server. Other files here add to the same functions, whichever is loaded first.
window.dash_clientside ??= {};
Object.assign((window.dash_clientside.raydream ??= {}), {
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

  // The ranges that the reader has zoomed a figure to, with the choice of axes that they belong to.
  zoomed(moved, before, ...chosen) {
    const same = before && before.chosen.join() === chosen.join();
    const now = same ? { ...before } : { chosen };
    let heard = false;
    for (const axis of ["xaxis", "yaxis"]) {
      if (moved && axis + ".range[0]" in moved) now[axis] = [moved[axis + ".range[0]"], moved[axis + ".range[1]"]];
      else if (moved && moved[axis + ".autorange"]) delete now[axis];
      else continue;
      heard = true;
    }
    return heard ? now : window.dash_clientside.no_update;
  },

  // Whether the reader's screen is dark, now and when it changes.
  scheme() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => window.dash_clientside.set_props("dark", { data: dark.matches }));
    return dark.matches;
  },
});
