// Sets the theme before the first paint, so that the page never flashes in the wrong theme. Also detects
// modules that fail to load. For both reasons, this script is not a module.
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
  // If one of its modules is missing, the page has no views.
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
        // The choice is lost on reload.
      }
    },
  };
})();
