// The parts of a decision on the page: what is shared, what every policy answers, the candidates, reasons, accounts.

import { make, shortNumber, withUnit } from "./dom.js";
import { makeSortable } from "./tables.js";
import { tellReasons } from "./reasons.js";
import { NONE, answerOf, labelOf, nameOf, scoreOf, speakerOf, usedFeatures, valueAt } from "./told.js";

export function sharedFacts(view) {
  const shared = view.index.features.filter((feature) => feature.shared && (view.all || usedFeatures(view).includes(feature.name)));
  const items = shared.map((feature) =>
    make("li", { title: feature.meaning }, `${feature.name} ${withUnit(valueAt(view, feature.name, 0), feature.unit)}`),
  );
  return make("ul", { class: "facts", "aria-label": "What all candidates share", hidden: !items.length }, ...items);
}

// The name of a feature may go on in the next line after any of its underscores.
function breakable(name) {
  return name.replaceAll("_", "_\u200b");
}

function heading(names) {
  return make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, make("button", { type: "button" }, breakable(name))))));
}

function cell(told, sort, more = {}) {
  const number = typeof sort === "number" ? { class: "number" } : {};
  const key = sort === null || sort === undefined ? {} : { "data-sort": sort };
  return make("td", { ...number, ...key, ...more }, told);
}

function region(table, label) {
  makeSortable(table);
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, table);
}

export function answersTable(view) {
  const { dataA: data, place, index } = view;
  const base = [data.answers[view.a][place], data.levels[view.a][place]];
  const rows = index.policies.map((policy) => {
    const row = data.answers[policy.name][place];
    const level = data.levels[policy.name][place];
    const other = row !== base[0];
    const more = level !== base[1];
    const score = data.scores[policy.name] && row !== NONE ? data.scores[policy.name][data.start[place] + row] : null;
    const dot = make("span", { class: `dot ${policy.kind}`, style: { "--policy": policy.colour }, "aria-hidden": "true" });
    return make(
      "tr",
      { class: policy.name === view.a ? "answer-a" : null },
      make("th", { scope: "row", "data-sort": policy.label.toLowerCase() }, dot, policy.label),
      cell(make("span", { class: policy.name === view.a ? null : other ? "differs" : "same" }, `${other ? "≠ " : "= "}${nameOf(view, row)}`), nameOf(view, row)),
      ...(index.level ? [cell(make("span", { class: more && !other ? "differs" : null }, `${more && !other ? "≠ " : ""}${level || "–"}`), level || null)] : []),
      cell(row === NONE ? "–" : scoreOf(view, policy, row), score),
      cell(speakerOf(view, policy, row), speakerOf(view, policy, row)),
    );
  });
  const names = ["Policy", "Answers", ...(index.level ? [index.level.unit || "Level"] : []), "Score", "By"];
  const caption = make("caption", {}, `What every policy answers here; = and ≠: the same as ${labelOf(view, view.a)} or not`);
  const table = make("table", { class: "sortable answers" }, caption, heading(names), make("tbody", {}, ...rows));
  return region(table, "What every policy answers");
}

function scorersOf(view) {
  return view.index.policies.filter((policy) => policy.name in view.dataA.scores);
}

export function candidatesTable(view) {
  const { dataA: data, place, index } = view;
  const features = usedFeatures(view).filter((name) => !index.features.find((each) => each.name === name).shared);
  const scorers = scorersOf(view);
  const count = data.start[place + 1] - data.start[place];
  const rows = [...Array(count).keys()].map((row) => candidateRow(view, row, scorers, features));
  const score = data.scores[view.a] || data.scores[index.expert];
  const key = (row) => score[data.start[place] + row] ?? (data.candidate[data.start[place] + row] === NONE ? 0 : -Infinity);
  const answer = data.answers[view.a][place];  // first among those whose scores are the same in the digits shown
  const order = [...rows.keys()].sort((one, other) => key(other) - key(one) || (other === answer) - (one === answer) || one - other);
  const units = features.map((name) => {
    const unit = index.features.find((each) => each.name === name).unit;
    return unit ? `${name} (${unit})` : name;
  });
  const names = ["Candidate", "Answer of", ...scorers.map((policy) => policy.label), `${labelOf(view, index.expert)}, %`, ...units];
  const more = data.hidden[place] ? ` ${data.hidden[place]} more are not shown.` : "";
  const told = scorers.some((policy) => policy.name === view.a) ? labelOf(view, view.a) : labelOf(view, index.expert);
  const caption = make("caption", {}, `Candidates with the scores of all that score and their features, the best by ${told} first.${more} Press a candidate to see which rule speaks for it.`);
  const table = make("table", { class: "sortable candidates" }, caption, heading(names), make("tbody", {}, ...order.map((row) => rows[row])));
  const box = make("input", { type: "checkbox", checked: view.all, onchange: () => { view.all = box.checked; view.show(); } });
  return make("div", {}, region(table, "Candidates"), make("label", { class: "all" }, box, " all features"));
}

function candidateRow(view, row, scorers, features) {
  const { dataA: data, place, index } = view;
  const at = data.start[place] + row;
  const isNone = data.candidate[at] === NONE;
  const swatch = isNone ? null : make("span", { class: "swatch", "data-group": data.group[at], "aria-hidden": "true" });
  const look = make("button", { type: "button", class: "link", onclick: () => view.lookAt(row) }, nameOf(view, row));
  const chosen = index.policies.filter((policy) => data.answers[policy.name][place] === row);
  const chips = chosen.map((policy) => make("span", { class: [view.a, view.b].includes(policy.name) ? "chip main" : "chip" }, policy.label));
  const name = make("th", { scope: "row", "data-sort": isNone ? -1 : data.candidate[at] }, swatch, look);
  return make(
    "tr",
    { class: data.answers[view.a][place] === row ? "answer-a" : null, "data-row": row },
    name,
    make("td", { "data-sort": -chosen.length }, ...(chips.length ? chips : ["–"])),
    ...scorers.map((policy) => cell(scoreOf(view, policy, row), data.scores[policy.name][at])),
    cell(shortNumber(Number((100 * data.probability[at]).toPrecision(3))), data.probability[at]),
    ...features.map((feature) => cell(shortNumber(isNone ? null : valueAt(view, feature, row)), isNone ? null : valueAt(view, feature, row))),
  );
}

export function reasonsBox(view) {
  view.reasons = make("div", { class: "reasons", "aria-live": "polite" });
  fillReasons(view);
  return view.reasons;
}

export function fillReasons(view) {
  const { dataA: data, place, index } = view;
  const row = view.looked ?? data.answers[view.a][place];
  const readable = index.policies.filter((policy) => policy.name in index.clauses && (index.clauses[policy.name].length || [view.a, view.b].includes(policy.name)));
  const wanted = readable.filter((policy) => [view.a, view.b].includes(policy.name));
  const shown = wanted.length ? wanted : readable;
  const parts = shown.map((policy) => {
    const part = make("div");
    const at = data.start[place] + row;
    const fires = row === NONE ? NONE : data.fires[policy.name]?.[at];
    tellReasons(part, index, policy, nameOf(view, row), fires, (feature) => valueAt(view, feature, row));
    return part;
  });
  view.reasons.replaceChildren(make("h4", {}, "Which rule speaks"), ...parts);
}

export function accountsOf(view) {
  const { dataA: data, place, index } = view;
  const told = index.policies.filter((policy) => data.accounts[policy.name] && place in data.accounts[policy.name]);
  const order = told.sort((one, other) => [view.a, view.b].includes(other.name) - [view.a, view.b].includes(one.name));
  if (!order.length) return [make("p", { class: "none" }, "No account in words was made of this decision; see “Step through”.")];
  const parts = order.map((policy) => make("p", { class: "account" }, make("strong", {}, policy.label), data.accounts[policy.name][place]));
  return [make("h4", {}, "Why, and what would flip it"), ...parts];
}
