// Runs before the first paint, so that a chosen theme does not flash. The browser stores only the theme: no token, no query.
"use strict";
try {
  const theme = localStorage.getItem("scrubjay-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be denied: use the system's theme.
}
