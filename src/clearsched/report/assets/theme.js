// Light, dark, or as the system has it; what was chosen is kept where the browser lets a file keep it.

const THEMES = ["", "light", "dark"];

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
