// Which rule speaks for a candidate, and which conditions of the rules before it are missed.

import { make, shortNumber, withUnit } from "./dom.js";

export function tellReasons(root, index, policy, name, fires, valueOf) {
  const clauses = index.clauses[policy.name] || [];
  const word = index.words[policy.name];
  if (!clauses.length || fires === undefined || fires < 0) {
    const why = fires === -1 ? "None of these has the score 0." : "All its features count at once: see the scores, and its account.";
    root.replaceChildren(make("p", {}, `${policy.label}, ${name}: ${why}`));
    return;
  }
  const items = clauses.slice(0, fires + 1).map((conditions, place) => {
    const speaks = place === fires;
    const told = conditions.flatMap(([feature, below, threshold], i) => [
      i ? ", " : "",
      tellCondition(index, feature, below, threshold, valueOf(feature), speaks),
    ]);
    const mark = speaks ? "speaks" : "does not fit";
    return make("li", { class: speaks ? "speaks" : "passed" }, `${word} ${place + 1} ${mark}: `, ...(told.length ? told : ["all others"]));
  });
  root.replaceChildren(make("p", {}, `${policy.label}, ${name}:`), make("ol", {}, ...items));
}

function tellCondition(index, feature, below, threshold, value, speaks) {
  const unit = index.features.find((each) => each.name === feature).unit;
  // Values are shown in five digits: one that is the threshold in so many is settled by what the rule did.
  const even = value === Number(threshold.toPrecision(5));
  const met = speaks || (even ? false : value < threshold === below);
  const told = `${feature} ${withUnit(value, unit)} ${below ? "<" : "≥"} ${shortNumber(Number(threshold.toPrecision(6)))}`;
  return make("span", { class: `condition ${met ? "met" : "missed"}` }, `${met ? "✓" : "✗"} ${told}`);
}
