// Starts what the page has: sorting, filters, explorers, the theme.

import { readIndex } from "./data.js";
import { startExplorer } from "./explorer.js";
import { makeSortable, startFilters } from "./tables.js";
import { offPaper, onPaper, startTheme } from "./theme.js";

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll("form.filters").forEach(startFilters);
const explorers = [...document.querySelectorAll(".explorer")].map((root) => startExplorer(root, readIndex(`${root.id}-data`)));
startTheme(document.getElementById("theme"), () => explorers.forEach((explorer) => explorer.redraw()));
addEventListener("beforeprint", () => {
  document.querySelectorAll("details.policy").forEach((details) => (details.open = true));
  onPaper(() => explorers.forEach((explorer) => explorer.redraw()));
});
addEventListener("afterprint", () => offPaper(() => explorers.forEach((explorer) => explorer.redraw())));
