// Lessons by keys: j and k move, the others press what the lesson at hand offers. They do nothing while somebody types.
(function () {
  "use strict";
  const items = () => Array.from(document.querySelectorAll("[data-item]"));
  let at = -1;

  function moveTo(index) {
    const all = items();
    if (!all.length) { return; }
    at = Math.max(0, Math.min(index, all.length - 1));
    all.forEach((item, place) => item.classList.toggle("at", place === at));
    all[at].focus({ preventScroll: true });
    all[at].scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    const types = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (types || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) { return; }
    const held = items().findIndex((item) => item.contains(document.activeElement));
    at = held < 0 ? at : held;
    if (event.key === "j") { moveTo(at + 1); }
    if (event.key === "k") { moveTo(at - 1); }
    if (event.key === "z") { (document.querySelector('[data-key="z"]') || { click() {} }).click(); }
    if (/^[tf]$/.test(event.key) && !event.repeat) {
      if (at < 0) { moveTo(0); }
      const button = items()[at] && items()[at].querySelector('[data-key="' + event.key + '"]');
      if (button) { button.click(); }
    }
  });
  document.querySelectorAll(".keys").forEach((line) => { line.hidden = false; });
})();
