// The decision explorer: two schedules of one episode, and at each decision of the first what every policy makes of it.

import { groupColour, isDark, make, shortNumber, withUnit } from "./dom.js";
import { hasSchedule, readSchedule } from "./data.js";
import { drawGantt, makeGantt, showSchedule } from "./gantt.js";
import { makeSortable } from "./tables.js";
import { tellReasons } from "./reasons.js";

const NONE = -1;

export function startExplorer(root, index) {
  const policies = index.policies.filter((policy) => hasSchedule(`${index.prefix}-${policy.name}`));
  if (!policies.length) {
    root.replaceChildren(make("p", { class: "note" }, "No schedule fits into the page."));
    return { redraw() {} };
  }
  const view = { root, index, policies, place: 0, looked: null, all: false };
  view.a = (policies.find((policy) => policy.kind === "student") || policies[0]).name;
  view.b = (policies.find((policy) => policy.name === index.expert && policy.name !== view.a) || policies.at(-1)).name;
  build(view);
  load(view);
  return { redraw: () => drawCharts(view) };
}

// What does not change ------------------------------------------------------------------------------------------------

function build(view) {
  const { index } = view;
  view.chartA = makeGantt((time) => goToTime(view, time));
  view.chartB = makeGantt((time) => goToTime(view, time));
  view.choiceA = chooser(view, "Walk through", "a");
  view.choiceB = chooser(view, "Beside it", "b");
  view.which = make(
    "select",
    { onchange: () => show(view) },
    ...[
      ["all", "all decisions"],
      ["real", "those with two answers or more"],
      ["differ", "those that the two answer differently"],
      ["told", "those with an account in words"],
    ].map(([value, told]) => make("option", { value }, told)),
  );
  const step = (told, label, by) => make("button", { type: "button", "aria-label": label, title: label, onclick: () => go(view, by) }, told);
  view.back = step("‹", "Previous decision", -1);
  view.on = step("›", "Next decision", 1);
  view.first = step("«", "First decision", -Infinity);
  view.last = step("»", "Last decision", Infinity);
  view.next = make("button", { type: "button", onclick: () => goToDifference(view) }, "Next difference");
  view.scrub = make("input", { type: "range", min: 0, value: 0, "aria-label": "Decision", oninput: () => goTo(view, Number(view.scrub.value)) });
  view.status = make("p", { class: "visually-hidden", role: "status" });
  view.decision = make("div", { class: "decision" });
  view.root.replaceChildren(
    make("div", { class: "choose" }, view.choiceA, view.choiceB),
    view.chartA.root,
    view.chartB.root,
    make(
      "div",
      { class: "steps", role: "group", "aria-label": "Steps" },
      view.first, view.back, view.on, view.last,
      make("div", { class: "scrub" }, view.scrub),
      view.next,
      make("label", {}, "Step through", view.which),
    ),
    view.status,
    view.decision,
  );
  view.root.addEventListener("keydown", (event) => pressed(view, event));
  new ResizeObserver(() => drawCharts(view)).observe(view.root);
  const note = index.longest > 0 && index.policies.length > view.policies.length;
  if (note) view.root.prepend(make("p", { class: "note" }, "Some schedules are left out to keep the page small."));
}

function chooser(view, told, side) {
  const select = make(
    "select",
    { onchange: () => { view[side] = select.value; load(view); } },
    ...view.policies.map((policy) => make("option", { value: policy.name }, `${policy.label} (${policy.kind})`)),
  );
  select.value = view[side];
  return make("label", {}, `${told} `, select);
}

function pressed(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input[type=search]")) return;
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  const scrolls = event.target.matches(".wide, pre");
  if (event.key in steps && !scrolls) go(view, steps[event.key]);
  else if (event.key === "d" || event.key === "D") goToDifference(view);
  else return;
  event.preventDefault();
}

// Where it stands -----------------------------------------------------------------------------------------------------

async function load(view) {
  const asked = (view.asked = (view.asked || 0) + 1);
  const at = view.dataA ? view.dataA.time[view.place] : 0;
  const [dataA, dataB] = await Promise.all([view.a, view.b].map((name) => readSchedule(`${view.index.prefix}-${name}`)));
  if (asked !== view.asked) return;
  Object.assign(view, { dataA, dataB });
  const ends = [dataA, dataB].map((data) => Math.max(0, ...(data.timeline ? data.timeline.completion_s : data.time)));
  showSchedule(view.chartA, dataA, labelOf(view, view.a), view.index.objective, Math.max(...ends) * 1.01);
  showSchedule(view.chartB, dataB, labelOf(view, view.b), view.index.objective, Math.max(...ends) * 1.01);
  view.scrub.max = Math.max(dataA.time.length - 1, 0);
  goToTime(view, at);
}

function labelOf(view, name) {
  return view.index.policies.find((policy) => policy.name === name).label;
}

function goToTime(view, time) {
  let best = 0;
  view.dataA.time.forEach((each, i) => {
    if (Math.abs(each - time) < Math.abs(view.dataA.time[best] - time)) best = i;
  });
  goTo(view, best);
}

function goTo(view, place) {
  view.place = Math.min(Math.max(place, 0), Math.max(view.dataA.time.length - 1, 0));
  view.looked = null;
  show(view);
}

function go(view, by) {
  const count = view.dataA.time.length;
  const falls = by < 0;
  let place = Number.isFinite(by) ? view.place + by : falls ? 0 : count - 1;
  const inward = Number.isFinite(by) ? by : falls ? 1 : -1;
  while (place >= 0 && place < count && !counts(view, place)) place += inward;
  if (place >= 0 && place < count) goTo(view, place);
}

function goToDifference(view) {
  for (let place = view.place + 1; place < view.dataA.time.length; place++) {
    if (differ(view, place)) return goTo(view, place);
  }
  view.status.textContent = "No later decision that the two answer differently.";
}

function counts(view, place) {
  const data = view.dataA;
  if (view.which.value === "real") return data.start[place + 1] - data.start[place] + data.hidden[place] > 1;
  if (view.which.value === "differ") return differ(view, place);
  if (view.which.value === "told") return Object.values(data.accounts).some((told) => place in told);
  return true;
}

function differ(view, place) {
  const { answers, levels } = view.dataA;
  return answers[view.a][place] !== answers[view.b][place] || levels[view.a][place] !== levels[view.b][place];
}

// What it shows -------------------------------------------------------------------------------------------------------

function show(view) {
  const { dataA: data, place, index } = view;
  if (!data.time.length) {
    view.decision.replaceChildren(make("p", {}, "This policy took no decision."));
    return;
  }
  view.scrub.value = place;
  view.scrub.setAttribute("aria-valuetext", `decision ${place + 1} of ${data.time.length}, at ${shortNumber(data.time[place])} s`);
  view.back.disabled = view.first.disabled = place === 0;
  view.on.disabled = view.last.disabled = place === data.time.length - 1;
  const answer = answerOf(view, view.a);
  const beside = view.a === view.b ? "" : differ(view, place) ? ` ${labelOf(view, view.b)} answers otherwise: ${answerOf(view, view.b)}.` : ` ${labelOf(view, view.b)} answers the same.`;
  const heading = `Decision ${place + 1} of ${data.time.length}, at ${shortNumber(data.time[place])} s`;
  view.status.textContent = `${heading}: ${labelOf(view, view.a)} answers ${answer}.${beside}`;
  const kept = index.longest > data.time.length ? ` The first ${data.time.length} decisions are shown.` : "";
  view.decision.replaceChildren(
    make("h4", {}, heading),
    make("p", {}, `${index.rank.question} ${labelOf(view, view.a)} answers ${answer}.${beside}${kept && place === data.time.length - 1 ? kept : ""}`),
    sharedFacts(view),
    make("div", { class: "columns" }, answersTable(view), reasonsBox(view)),
    candidatesTable(view),
    ...accountsOf(view),
  );
  drawCharts(view);
}

function drawCharts(view) {
  if (!view.dataA || !view.dataA.time.length) return;
  const { dataA: data, place } = view;
  const row = view.looked ?? data.answers[view.a][place];
  const group = row === NONE ? NONE : data.group[data.start[place] + row];
  const marked = group === undefined || group === NONE ? null : group;
  drawGantt(view.chartA, data.time[place], marked);
  drawGantt(view.chartB, data.time[place], marked);
  const dark = isDark();
  view.decision.querySelectorAll(".swatch").forEach((swatch) => {
    swatch.style.background = groupColour(Number(swatch.dataset.group), dark);
  });
}

function nameOf(view, row) {
  const { dataA: data, place, index } = view;
  const at = data.start[place] + row;
  if (row === NONE || data.candidate[at] === NONE) return index.rank.none || "none of these";
  const group = index.rank.group ? ` (${index.rank.group} ${data.group[at]})` : "";
  return `${index.rank.name} ${data.candidate[at]}${group}`;
}

function answerOf(view, policy) {
  const { dataA: data, place, index } = view;
  const level = data.levels[policy][place];
  const amount = index.level && level ? `, ${level} ${index.level.unit}` : "";
  return `${nameOf(view, data.answers[policy][place])}${amount}`;
}

function valueAt(view, feature, row) {
  const { dataA: data, place, index } = view;
  const shared = index.features.find((each) => each.name === feature).shared;
  return data.features[feature][shared ? place : data.start[place] + row];
}

function usedFeatures(view) {
  if (view.all) return view.index.features.map((feature) => feature.name);
  const asked = [view.a, view.b].flatMap((name) => view.index.used[name] || []);
  const used = new Set(asked.length ? asked : Object.values(view.index.used).flat());
  return view.index.features.map((feature) => feature.name).filter((name) => used.has(name));
}

function sharedFacts(view) {
  const shared = view.index.features.filter((feature) => feature.shared && (view.all || usedFeatures(view).includes(feature.name)));
  const items = shared.map((feature) =>
    make("li", { title: feature.meaning }, `${feature.name} ${withUnit(valueAt(view, feature.name, 0), feature.unit)}`),
  );
  return make("ul", { class: "facts", "aria-label": "What all candidates share", hidden: !items.length }, ...items);
}

function heading(names) {
  return make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, make("button", { type: "button" }, name)))));
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

function answersTable(view) {
  const { dataA: data, place, index } = view;
  const base = [data.answers[view.a][place], data.levels[view.a][place]];
  const rows = index.policies.map((policy) => {
    const row = data.answers[policy.name][place];
    const level = data.levels[policy.name][place];
    const other = row !== base[0] || level !== base[1];
    const score = data.scores[policy.name] && row !== NONE ? data.scores[policy.name][data.start[place] + row] : null;
    const dot = make("span", { class: `dot ${policy.kind}`, style: { "--policy": policy.colour }, "aria-hidden": "true" });
    return make(
      "tr",
      { class: policy.name === view.a ? "answer-a" : null },
      make("th", { scope: "row", "data-sort": policy.label.toLowerCase() }, dot, policy.label),
      cell(make("span", { class: policy.name === view.a ? null : other ? "differs" : "same" }, `${other ? "≠ " : "= "}${nameOf(view, row)}`), nameOf(view, row)),
      ...(index.level ? [cell(level ? String(level) : "–", level || null)] : []),
      cell(row === NONE ? "–" : scoreOf(view, policy, row), score),
      cell(speakerOf(view, policy, row), speakerOf(view, policy, row)),
    );
  });
  const names = ["Policy", "Answers", ...(index.level ? [index.level.unit || "Level"] : []), "Score", "By"];
  const caption = make("caption", {}, `What every policy answers here; = and ≠: the same as ${labelOf(view, view.a)} or not`);
  const table = make("table", { class: "sortable answers" }, caption, heading(names), make("tbody", {}, ...rows));
  return region(table, "What every policy answers");
}

function speakerOf(view, policy, row) {
  const fires = view.dataA.fires[policy.name];
  if (!fires || row === NONE) return "–";
  const spoke = fires[view.dataA.start[view.place] + row];
  return spoke < 0 ? "–" : `${view.index.words[policy.name] || "piece"} ${spoke + 1}`;
}

// A score; of rules whose ties count in the same number, so that it is huge, the rule that gave it.
function scoreOf(view, policy, row) {
  const score = view.dataA.scores[policy.name]?.[view.dataA.start[view.place] + row] ?? null;
  return score !== null && Math.abs(score) >= 1e6 ? speakerOf(view, policy, row) : shortNumber(score);
}

function scorersOf(view) {
  return view.index.policies.filter((policy) => policy.name in view.dataA.scores);
}

function candidatesTable(view) {
  const { dataA: data, place, index } = view;
  const features = usedFeatures(view).filter((name) => !index.features.find((each) => each.name === name).shared);
  const scorers = scorersOf(view);
  const count = data.start[place + 1] - data.start[place];
  const rows = [...Array(count).keys()].map((row) => candidateRow(view, row, scorers, features));
  const score = data.scores[view.a] || data.scores[index.expert];
  const key = (row) => score[data.start[place] + row] ?? (data.candidate[data.start[place] + row] === NONE ? 0 : -Infinity);
  const order = [...rows.keys()].sort((one, other) => key(other) - key(one) || one - other);
  const units = features.map((name) => {
    const unit = index.features.find((each) => each.name === name).unit;
    return unit ? `${name} (${unit})` : name;
  });
  const names = ["Candidate", "Answer of", ...scorers.map((policy) => policy.label), `${labelOf(view, index.expert)}, %`, ...units];
  const more = data.hidden[place] ? ` ${data.hidden[place]} more are not shown.` : "";
  const told = scorers.some((policy) => policy.name === view.a) ? labelOf(view, view.a) : labelOf(view, index.expert);
  const caption = make("caption", {}, `Candidates with the scores of all that score and their features, the best by ${told} first.${more} Press a candidate to see which rule speaks for it.`);
  const table = make("table", { class: "sortable candidates" }, caption, heading(names), make("tbody", {}, ...order.map((row) => rows[row])));
  const box = make("input", { type: "checkbox", checked: view.all, onchange: () => { view.all = box.checked; show(view); } });
  return make("div", {}, region(table, "Candidates"), make("label", {}, box, " all features"));
}

function candidateRow(view, row, scorers, features) {
  const { dataA: data, place, index } = view;
  const at = data.start[place] + row;
  const isNone = data.candidate[at] === NONE;
  const swatch = isNone ? null : make("span", { class: "swatch", "data-group": data.group[at], "aria-hidden": "true" });
  const look = make("button", { type: "button", class: "link", onclick: () => lookAt(view, row) }, nameOf(view, row));
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

function lookAt(view, row) {
  view.looked = row;
  view.decision.querySelectorAll("tr[data-row]").forEach((each) => each.classList.toggle("looked-at", Number(each.dataset.row) === row));
  fillReasons(view);
  drawCharts(view);
}

function reasonsBox(view) {
  view.reasons = make("div", { class: "reasons", "aria-live": "polite" });
  fillReasons(view);
  return view.reasons;
}

function fillReasons(view) {
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

function accountsOf(view) {
  const { dataA: data, place, index } = view;
  const told = index.policies.filter((policy) => data.accounts[policy.name] && place in data.accounts[policy.name]);
  const order = told.sort((one, other) => [view.a, view.b].includes(other.name) - [view.a, view.b].includes(one.name));
  if (!order.length) return [make("p", { class: "none" }, "No account in words was made of this decision; see “Step through”.")];
  const parts = order.map((policy) => make("p", { class: "account" }, make("strong", {}, policy.label), data.accounts[policy.name][place]));
  return [make("h4", {}, "Why, and what would flip it"), ...parts];
}
