// The figures of a tuning, which were all drawn beforehand: those of one method at a time.

const { spent, methods } = JSON.parse(new TextDecoder().decode(data));
const calm = { settings: { displayModeBar: false } };

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
