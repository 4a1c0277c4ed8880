// The decision explorer: two schedules of one episode, and at each decision of the first what every policy makes of it.

import { groupColour, isDark, make, shortNumber } from "./dom.js";
import { hasSchedule, readSchedule } from "./data.js";
import { drawGantt, makeGantt, showSchedule } from "./gantt.js";
import { accountsOf, answersTable, candidatesTable, fillReasons, reasonsBox, sharedFacts } from "./panels.js";
import { NONE, answerOf, differ, labelOf } from "./told.js";

export function startExplorer(root, index) {
  const policies = index.policies.filter((policy) => hasSchedule(`${index.prefix}-${policy.name}`));
  if (!policies.length) {
    root.replaceChildren(make("p", { class: "note" }, "No schedule fits into the page."));
    return { redraw() {} };
  }
  const view = { root, index, policies, place: 0, looked: null, all: false };
  view.show = () => show(view);
  view.lookAt = (row) => lookAt(view, row);
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

function lookAt(view, row) {
  view.looked = row;
  view.decision.querySelectorAll("tr[data-row]").forEach((each) => each.classList.toggle("looked-at", Number(each.dataset.row) === row));
  fillReasons(view);
  drawCharts(view);
}
