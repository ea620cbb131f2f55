// Before anything is painted, so that a chosen theme does not flash. Only the theme is kept by the browser: no token, no query.
"use strict";
try {
  const theme = localStorage.getItem("scrubjay-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be refused: then the system's theme it is.
}
