// The figures of a tuning, which were all drawn beforehand: those of one method at a time.

const { spent, methods } = JSON.parse(new TextDecoder().decode(data));
const calm = { settings: { displayModeBar: false } };

function put(holder, figures, more) {  // one figure under, or beside, the other
  for (const place of holder.children) still.delete(place);
  holder.replaceChildren(...figures.map(figure => {
    const place = document.createElement("div");
    place.style.height = figure.layout.height + "px";
    return place;
  }));
  figures.forEach((figure, i) => show(holder.children[i], figure, more));
}

function choose(method) {
  for (const [id, text] of Object.entries({ about: method.about, key: method.key, from: method.from, lines: method.lines })) $(id).textContent = text;
  put($("panels"), method.panels, calm);
  put($("mattered"), method.mattered ? [method.mattered] : [], calm);
  $("parallel").style.minWidth = method.width + "px";
  put($("parallel"), method.parallel ? [method.parallel] : [], calm);
}

choices($("method"), methods.map((method, i) => [String(i), method.label]), "0");
$("method").addEventListener("change", event => choose(methods[Number(event.target.value)]));
choose(methods[0]);
put($("spent"), spent, calm);
