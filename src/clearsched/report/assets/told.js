// What the decision at hand says, in names and numbers: of candidates, answers, scores and the rules that spoke.

import { shortNumber } from "./dom.js";

export const NONE = -1;

export function labelOf(view, name) {
  return view.index.policies.find((policy) => policy.name === name).label;
}

export function differ(view, place) {
  const { answers, levels } = view.dataA;
  return answers[view.a][place] !== answers[view.b][place] || levels[view.a][place] !== levels[view.b][place];
}

export function nameOf(view, row) {
  const { dataA: data, place, index } = view;
  const at = data.start[place] + row;
  if (row === NONE || data.candidate[at] === NONE) return index.rank.none || "none of these";
  const group = index.rank.group ? ` (${index.rank.group} ${data.group[at]})` : "";
  return `${index.rank.name} ${data.candidate[at]}${group}`;
}

export function answerOf(view, policy) {
  const { dataA: data, place, index } = view;
  const level = data.levels[policy][place];
  const amount = index.level && level ? `, ${level} ${index.level.unit}` : "";
  return `${nameOf(view, data.answers[policy][place])}${amount}`;
}

export function valueAt(view, feature, row) {
  const { dataA: data, place, index } = view;
  const shared = index.features.find((each) => each.name === feature).shared;
  return data.features[feature][shared ? place : data.start[place] + row];
}

export function usedFeatures(view) {
  if (view.all) return view.index.features.map((feature) => feature.name);
  const asked = [view.a, view.b].flatMap((name) => view.index.used[name] || []);
  const used = new Set(asked.length ? asked : Object.values(view.index.used).flat());
  return view.index.features.map((feature) => feature.name).filter((name) => used.has(name));
}

export function speakerOf(view, policy, row) {
  const fires = view.dataA.fires[policy.name];
  if (!fires || row === NONE) return "–";
  const spoke = fires[view.dataA.start[view.place] + row];
  return spoke < 0 ? "–" : `${view.index.words[policy.name] || "piece"} ${spoke + 1}`;
}

// A score; of rules whose ties count in the same number, so that it is huge, the rule that gave it.
export function scoreOf(view, policy, row) {
  const score = view.dataA.scores[policy.name]?.[view.dataA.start[view.place] + row] ?? null;
  return score !== null && Math.abs(score) >= 1e6 ? speakerOf(view, policy, row) : shortNumber(score);
}
