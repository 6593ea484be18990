"use strict";
// What the theory page does without asking the server.
window.dash_clientside ??= {};
Object.assign((window.dash_clientside.raydream ??= {}), {
  // A dial's slider holds the exponent and its box the number; whichever the reader moves takes the other along. The box
  // is set by hand, not as an output: other pages have boxes of the same names, and no sliders beside them.
  turn(exponent, number, low, high, whole) {
    const { no_update, set_props, callback_context } = window.dash_clientside;
    const { triggered, triggered_id, inputs_list: [slider, box] } = callback_context;
    const short = Number((10 ** exponent).toPrecision(2)), there = whole ? Math.round(short) : short;
    if (triggered.length !== 1 || number === there) return no_update;
    if (triggered_id !== slider.id) return number > 0 ? Math.min(Math.max(Math.log10(number), low), high) : no_update;
    set_props(box.id, { value: there });
    return no_update;
  },
});
