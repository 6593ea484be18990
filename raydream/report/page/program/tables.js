// Tables that are sorted by a click, buttons that copy, and the sign that all is drawn.

for (const button of document.querySelectorAll("th button")) {
  const heading = button.parentElement, table = heading.closest("table"), number = [...heading.parentElement.children].indexOf(heading);
  let up = false;
  button.addEventListener("click", () => {
    up = !up;
    const rows = [...table.tBodies[0].rows], key = row => row.children[number]?.dataset.sort ?? "";
    rows.sort((a, b) => (up ? 1 : -1) * key(a).localeCompare(key(b), "en", { numeric: true }) );
    const numbers = rows.every(row => key(row) === "" || !Number.isNaN(Number(key(row))) || key(row) === "nan");
    if (numbers) rows.sort((a, b) => (up ? 1 : -1) * ((Number(key(a)) || 0) - (Number(key(b)) || 0)));
    table.tBodies[0].append(...rows);
  });
}
for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const text = button.parentElement.nextElementSibling.textContent;
    try { await navigator.clipboard.writeText(text); button.textContent = "copied"; }
    catch { getSelection().selectAllChildren(button.parentElement.nextElementSibling); button.textContent = "selected"; }
  });
}
offerTables();
offerAll();
new MutationObserver(offerAll).observe(document.querySelector("main"), { childList: true, subtree: true });
performance.mark("ready");
document.documentElement.dataset.ready = "true";
