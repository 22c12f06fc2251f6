// Runs before the first paint, so that no page flashes in the other theme, and sees modules fail.
// It is no module for these reasons.
(() => {
  const key = "holdfast.theme";
  let chosen;
  try {
    chosen = localStorage.getItem(key);
  } catch {
    chosen = null;
  }
  const apply = (theme) => {
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  apply(chosen);
  // A module that does not come leaves the page without its views.
  const failed = (event) => {
    if (event.target?.tagName !== "SCRIPT") return;
    const main = document.getElementById("main");
    main.textContent = "Part of the page could not be loaded. Reload the page.";
    main.setAttribute("role", "alert");
  };
  addEventListener("error", failed, true);
  globalThis.holdfastTheme = {
    get: () => document.documentElement.dataset.theme ?? "system",
    set(theme) {
      apply(theme);
      try {
        localStorage.setItem(key, theme);
      } catch {
        // The choice lasts as long as the page.
      }
    },
  };
})();
