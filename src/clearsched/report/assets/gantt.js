// The Gantt chart of a schedule: a canvas for the eye, a label for those who do not see it, a table in words besides.

import { groupColour, isDark, make, shortNumber } from "./dom.js";

const MARGIN = { left: 44, right: 12, top: 14, bottom: 22 };

export function makeGantt(jump) {
  const title = make("strong");
  const tip = make("small");
  const canvas = make("canvas", { role: "img" });
  const words = make("details", {}, make("summary", {}, "This schedule in words"));
  const root = make("div", { class: "gantt" }, make("div", { class: "title" }, title, tip), canvas, words);
  const chart = { root, title, tip, canvas, words, data: null };
  canvas.addEventListener("click", (event) => jump(timeAt(chart, event)));
  canvas.addEventListener("mousemove", (event) => tell(chart, event));
  canvas.addEventListener("mouseleave", () => (chart.tip.textContent = ""));
  return chart;
}

export function showSchedule(chart, schedule, label, objective, last) {
  chart.data = schedule.timeline;
  chart.last = last;
  chart.root.hidden = chart.data === null;
  if (chart.data === null) return;
  chart.title.textContent = `${label}: ${objective.short} ${shortNumber(schedule.objective)} ${objective.unit}`.trim();
  const { row, rows, whose, note } = chart.data;
  const count = chart.data.completion_s.length;
  chart.canvas.setAttribute(
    "aria-label",
    `Gantt chart of ${label}: ${count} ${whose}s on ${rows} rows, one ${row} each, over ${shortNumber(last)} s. ` +
      `The table below tells it in words. ${note}`,
  );
  chart.words.replaceChildren(chart.words.firstChild, inWords(chart.data, label));
}

export function drawGantt(chart, time, marked) {
  if (!chart.data) return;
  const { canvas, data } = chart;
  const height = MARGIN.top + MARGIN.bottom + Math.min(260, Math.max(110, data.rows * 13));
  const width = canvas.parentNode.clientWidth;
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink").trim();
  const soft = style.getPropertyValue("--soft").trim();
  const line = style.getPropertyValue("--line").trim();
  const accent = style.getPropertyValue("--accent").trim();
  const across = (seconds) => MARGIN.left + (seconds / chart.last) * (width - MARGIN.left - MARGIN.right);
  const tall = (height - MARGIN.top - MARGIN.bottom) / data.rows;
  pen.font = "11px system-ui, sans-serif";
  drawAxes(pen, { width, height, across, tall, chart, soft, line });
  const dark = isDark();
  const gap = tall > 6 ? 1.5 : 0;
  for (let i = 0; i < data.place.length; i++) {
    const group = data.group[i];
    const x = across(data.start_s[i]);
    pen.globalAlpha = (data.waits[i] ? 0.22 : 1) * (marked === null || marked === group ? 1 : 0.28);
    pen.fillStyle = groupColour(group, dark);
    pen.fillRect(x, MARGIN.top + data.place[i] * tall + gap / 2, Math.max(across(data.end_s[i]) - x, 0.7), tall - gap);
  }
  pen.globalAlpha = 1;
  drawMarked(pen, { marked, across, data, ink });
  pen.strokeStyle = accent;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(across(time), MARGIN.top - 8);
  pen.lineTo(across(time), height - MARGIN.bottom + 4);
  pen.stroke();
}

function drawAxes(pen, { width, height, across, tall, chart, soft, line }) {
  pen.fillStyle = soft;
  pen.strokeStyle = line;
  pen.lineWidth = 1;
  pen.textAlign = "center";
  const step = niceStep(chart.last / Math.max(2, width / 110));
  for (let tick = 0; tick <= chart.last * 1.0001; tick += step) {
    pen.beginPath();
    pen.moveTo(across(tick), MARGIN.top);
    pen.lineTo(across(tick), height - MARGIN.bottom);
    pen.stroke();
    const told = tick + step > chart.last * 1.0001 ? `${shortNumber(tick)} s` : shortNumber(tick);
    pen.fillText(told, Math.min(across(tick), width - 22), height - 6);
  }
  pen.textAlign = "right";
  const every = Math.max(1, Math.ceil(14 / tall));
  for (let place = 0; place < chart.data.rows; place += every) {
    pen.fillText(String(place), MARGIN.left - 8, MARGIN.top + (place + 0.5) * tall + 4);
  }
}

function drawMarked(pen, { marked, across, data, ink }) {
  if (marked === null || data.arrival_s[marked] === undefined) return;
  pen.fillStyle = ink;
  pen.textAlign = "center";
  for (const [seconds, sign] of [[data.arrival_s[marked], "▽"], [data.completion_s[marked], "▼"]]) {
    if (seconds !== null) pen.fillText(sign, across(seconds), MARGIN.top - 3);
  }
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}

function timeAt(chart, event) {
  const box = chart.canvas.getBoundingClientRect();
  const share = (event.clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
  return Math.min(Math.max(share, 0), 1) * chart.last;
}

function tell(chart, event) {
  const box = chart.canvas.getBoundingClientRect();
  const { data } = chart;
  const place = Math.floor(((event.clientY - box.top - MARGIN.top) / (box.height - MARGIN.top - MARGIN.bottom)) * data.rows);
  const time = timeAt(chart, event);
  const found = data.place.findIndex((row, i) => row === place && data.start_s[i] <= time && time < data.end_s[i]);
  const span = found < 0 ? "" : `, ${data.whose} ${data.group[found]}${data.waits[found] ? " waits" : ""}`;
  chart.tip.textContent = `${shortNumber(Number(time.toFixed(1)))} s, ${data.row} ${place}${span}`;
}

function inWords(data, label) {
  const busy = new Array(data.completion_s.length).fill(0);
  const first = new Array(data.completion_s.length).fill(null);
  data.group.forEach((group, i) => {
    if (data.waits[i]) return;
    busy[group] += data.end_s[i] - data.start_s[i];
    first[group] = first[group] === null ? data.start_s[i] : Math.min(first[group], data.start_s[i]);
  });
  const head = [data.whose, "arrives (s)", "first served (s)", "complete (s)", `${data.row} time (s)`];
  const body = data.completion_s.map((complete, group) => {
    const cells = [data.arrival_s[group], first[group], complete, busy[group]];
    const told = cells.map((value) => make("td", { class: "number" }, value === null ? "–" : value.toFixed(1)));
    return make("tr", {}, make("th", { scope: "row" }, String(group)), ...told);
  });
  const table = make(
    "table",
    {},
    make("caption", {}, `Every ${data.whose} under ${label}. ${data.note}`),
    make("thead", {}, make("tr", {}, ...head.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...body),
  );
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `Schedule of ${label} in words` }, table);
}
