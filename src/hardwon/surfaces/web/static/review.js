// Review by keys: j and k move, the others press what the item at hand offers. They do nothing while somebody types.
(function () {
  "use strict";
  const KEPT = "hardwon-review-at";
  const items = () => Array.from(document.querySelectorAll("[data-item]")).filter((each) => each.checkVisibility());
  let at = -1;

  function isTyping(target) {
    if (!(target instanceof HTMLElement)) { return false; }
    return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName) ||
      (target.tagName === "INPUT" && !/^(checkbox|radio|button|submit)$/.test(target.type));
  }

  function moveTo(index) {
    const all = items();
    if (!all.length) { return; }
    at = Math.max(0, Math.min(index, all.length - 1));
    all.forEach((each, place) => each.classList.toggle("at", place === at));
    all[at].focus({ preventScroll: true });
    all[at].scrollIntoView({ block: "nearest" });
  }

  function here() {
    const all = items();
    const held = all.findIndex((each) => each.contains(document.activeElement));
    if (held >= 0) { at = held; }
    if (at < 0) { moveTo(0); }
    return all[at];
  }

  function press(key) {
    if (key === "z") {
      const last = document.querySelector("[data-undo]");
      if (last) { last.click(); }
      return Boolean(last);
    }
    const item = here();
    if (!item) { return false; }
    if (key === "x") {
      const box = item.querySelector('input[type="checkbox"]');
      if (box) { box.click(); }
      return Boolean(box);
    }
    const offered = item.querySelector('[data-key="' + key + '"]');
    if (!offered) { return false; }
    if (offered.tagName === "DETAILS") {
      offered.open = true;
      offered.querySelector('input:not([type="hidden"])').focus();
    } else { offered.click(); }
    return true;
  }

  function count() {
    const place = document.querySelector("[data-chosen]");
    if (!place) { return; }
    const chosen = document.querySelectorAll('input[name="id"][form="bulk"]:checked').length;
    place.textContent = chosen ? "With " + chosen + " ticked" : "With those that are ticked";
  }

  // What is like a record is folded below it: "all" there means that one too.
  function tickAll(box) {
    const below = box.closest(".review-more");
    const inside = below ? [below.previousElementSibling, below] : [document];
    for (const place of inside) {
      place.querySelectorAll('input[name="id"][form="bulk"]').forEach((each) => { each.checked = box.checked; });
    }
  }

  document.querySelectorAll("[data-all]").forEach((label) => {
    label.hidden = false;
    label.firstElementChild.addEventListener("change", (event) => tickAll(event.target));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isTyping(event.target)) {
      const opened = event.target.closest("details.why");
      if (opened) { opened.open = false; opened.querySelector("summary").focus(); }
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.repeat && !/^[jk]$/.test(event.key)) { return; }
    if (isTyping(event.target)) { return; }
    if (event.key === "j" || event.key === "k") {
      const from = items().findIndex((each) => each.contains(document.activeElement));
      const now = from >= 0 ? from : at;
      moveTo(event.key === "j" ? now + 1 : now - 1);
      event.preventDefault();
    } else if (/^[vpausxz]$/.test(event.key) && press(event.key)) { event.preventDefault(); }
  });
  document.addEventListener("change", count);
  document.addEventListener("submit", (event) => {
    const item = event.target.closest("[data-item]");
    try { if (item) { sessionStorage.setItem(KEPT, String(items().indexOf(item))); } } catch (error) { /* it begins at the top */ }
  });
  document.querySelectorAll(".keys").forEach((line) => { line.hidden = false; });
  try {
    const kept = sessionStorage.getItem(KEPT);
    sessionStorage.removeItem(KEPT);
    if (kept !== null) { moveTo(Number(kept)); }
  } catch (error) { /* nobody was here before */ }
  count();
})();
