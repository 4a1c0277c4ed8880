// Light, dark, or as the system has it; what was chosen is kept where the browser lets a file keep it.

const THEMES = ["", "light", "dark"];

// Paper is white: what is drawn for it is drawn in the light theme, since a canvas keeps the colours that it got.
let onScreen = null;

export function onPaper(redraw) {
  onScreen ??= document.documentElement.dataset.theme || "";
  document.documentElement.dataset.theme = "light";
  redraw();
}

export function offPaper(redraw) {
  if (onScreen) document.documentElement.dataset.theme = onScreen;
  else delete document.documentElement.dataset.theme;
  onScreen = null;
  redraw();
}

export function startTheme(button, changed) {
  const say = () => {
    const chosen = document.documentElement.dataset.theme || "";
    button.textContent = `Theme: ${chosen || "as the system"}`;
    changed();
  };
  const set = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    say();
  };
  let kept = "";
  try {
    kept = localStorage.getItem("clearsched-theme") || "";
  } catch {
    kept = "";
  }
  set(THEMES.includes(kept) ? kept : "");
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || "") + 1) % THEMES.length];
    set(next);
    try {
      localStorage.setItem("clearsched-theme", next);
    } catch {
      return;
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
