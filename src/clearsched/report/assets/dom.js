// Elements, numbers and names: text goes in as text, so that no name is ever read as HTML.

export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.entries(value).forEach(([rule, to]) => element.style.setProperty(rule, to));
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function shortNumber(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return value.toLocaleString("en");
  if (size >= 1e6 || size < 1e-4) return value.toPrecision(3);
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 8 });
}

export function withUnit(value, unit) {
  return unit && value !== null ? `${shortNumber(value)} ${unit}` : shortNumber(value);
}

// A colour for each job: neighbours in number are far apart in hue.
export function groupColour(group, dark) {
  const hue = (group * 137.508 + 25) % 360;
  return `hsl(${hue.toFixed(1)} ${dark ? "52% 58%" : "55% 48%"})`;
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
