// Tables whose columns sort, by the cells' data-sort or text, and the filter of the comparison.

export function makeSortable(table) {
  table.querySelectorAll("thead button").forEach((button) => {
    button.addEventListener("click", () => sortBy(table, button.closest("th")));
  });
}

function sortBy(table, heading) {
  const place = [...heading.parentNode.children].indexOf(heading);
  const falls = heading.getAttribute("aria-sort") === "ascending";
  heading.parentNode.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row, was) => ({ row, was, key: sortKey(row.cells[place]) }));
  keyed.sort((one, other) => compareKeys(one.key, other.key, falls) || one.was - other.was);
  body.append(...keyed.map((each) => each.row));
}

function sortKey(cell) {
  if (!("sort" in cell.dataset)) return null;
  const number = Number(cell.dataset.sort);
  return cell.dataset.sort === "" || Number.isNaN(number) ? cell.dataset.sort : number;
}

function compareKeys(one, other, falls) {
  if (one === null || other === null) return (one === null) - (other === null);
  const order = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
  return falls ? -order : order;
}

export function startFilters(form) {
  const section = form.closest("section");
  const rows = [...section.querySelector("table.sortable").tBodies[0].rows];
  const count = section.querySelector(".count");
  const apply = () => {
    const part = form.querySelector("input[type=search]").value.trim().toLowerCase();
    const kinds = new Set([...form.querySelectorAll("input[type=checkbox]:checked")].map((box) => box.value));
    rows.forEach((row) => {
      row.hidden = !(kinds.has(row.dataset.kind) && row.dataset.name.includes(part));
    });
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown === rows.length ? `${shown} policies` : `${shown} of ${rows.length} policies`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
}
