// Small multiples of a study: a row of figures for each cell, all of one metric.

const study = JSON.parse(new TextDecoder().decode(data));

function draw(metric) {
  $("cells").replaceChildren();
  for (const [cell, figures] of Object.entries(study.cells)) {
    const name = document.createElement("h3"), row = document.createElement("div");
    name.textContent = cell;
    row.className = "three";
    $("cells").append(name, row);
    put(row, figures[metric], { settings: { displayModeBar: false } });
  }
}

choices($("metric"), study.metrics, study.first);
$("metric").addEventListener("change", event => draw(event.target.value));
draw(study.first);
