// What every page uses: its facts, plotly unpacked, figures that were drawn beforehand, and lists to choose from.

const $ = id => document.getElementById(id);
const facts = JSON.parse($("facts").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const touch = matchMedia("(pointer: coarse)").matches;
const settings = { responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "",
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] };  // none that sends data away
const plain = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

async function inflated(id) {
  const text = atob($(id).textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

let data;  // what else the page brings, as bytes
try {
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(await inflated("engine"));
  document.head.append(script);
  data = new Uint8Array(await inflated("data"));
  for (const id of ["engine", "data"]) $(id).remove();
} catch (error) {
  $("waiting").textContent = "This browser is too old to unpack the figures (" + error.message + "); the tables below are complete.";
  return;
}
$("waiting").remove();

const template = () => facts.templates[dark.matches ? "dark" : "light"];
const still = new Map();  // places that hold a figure that was drawn beforehand, and the figure they hold
function show(place, figure, more = {}) {
  still.set(place, [figure, more]);
  const layout = { ...structuredClone(figure.layout), ...more.layout, template: template() };
  if (touch) layout.dragmode = false;
  return Plotly.react(place, structuredClone(figure.data), layout, { ...settings, ...more.settings });
}
function put(holder, figures, more) {  // as many figures as there are, each as high as it asks to be
  for (const place of holder.children) still.delete(place);
  holder.replaceChildren(...figures.map(figure => {
    const place = document.createElement("div");
    place.style.height = figure.layout.height + "px";
    return place;
  }));
  figures.forEach((figure, i) => show(holder.children[i], figure, more));
}
dark.addEventListener("change", () => { for (const [place, [figure, more]] of still) show(place, figure, more); });

function choices(select, options, chosen) {
  for (const [value, text] of options) {
    const option = document.createElement("option");
    option.value = value; option.textContent = text; option.selected = value === chosen;
    select.append(option);
  }
}
