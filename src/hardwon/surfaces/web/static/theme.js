// Before anything is drawn: the theme that was chosen here before.
(function () {
  "use strict";
  var chosen = null;
  try { chosen = localStorage.getItem("hardwon-theme"); } catch (error) { chosen = null; }
  if (chosen === "dark" || chosen === "light") { document.documentElement.dataset.theme = chosen; }
})();
