// What pages do beyond being read: themes, tables, and staying up to date. Every page works without it.
(function () {
  "use strict";
  const root = document.documentElement;
  const all = (selector, inside) => Array.from((inside || document).querySelectorAll(selector));

  // --- theme ---------------------------------------------------------------------------------------------------------
  const darkMedia = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : darkMedia.matches);

  function setUpTheme() {
    for (const button of all("[data-theme-switch]")) {
      button.hidden = false;
      button.setAttribute("aria-pressed", String(isDark()));
      button.addEventListener("click", () => {
        root.dataset.theme = isDark() ? "light" : "dark";
        button.setAttribute("aria-pressed", String(isDark()));
        try { localStorage.setItem("hardwon-theme", root.dataset.theme); } catch (error) { /* it holds for this page */ }
      });
    }
  }

  // --- tables --------------------------------------------------------------------------------------------------------
  const textOf = (cell) => cell.dataset.sort || (cell.querySelector("time") || {}).dateTime || cell.textContent.trim();

  function compared(left, right) {
    const numbers = [left, right].map((text) => parseFloat(text.replace(/,/g, "")));
    const dates = [left, right].every((text) => /^\d{4}-\d\d-\d\d/.test(text));
    if (!dates && numbers.every((each) => !Number.isNaN(each))) { return numbers[0] - numbers[1]; }
    return left.localeCompare(right, undefined, { numeric: true });
  }

  function sortBy(table, header) {
    const column = Array.from(header.parentNode.children).indexOf(header);
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).sort((a, b) => compared(textOf(a.cells[column]), textOf(b.cells[column])));
    // of numbers and times the largest come first: those are looked for
    const before = header.getAttribute("aria-sort");
    const down = before ? before === "ascending" : rows.some((row) => /^\d/.test(textOf(row.cells[column])));
    all("th", table).forEach((each) => each.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...(down ? rows.reverse() : rows));
  }

  function csvOf(table) {
    // A spreadsheet takes what begins like this for a formula.
    const safe = (text) => (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? "'" + text : text);
    const quoted = (text) => '"' + safe(text).replace(/"/g, '""') + '"';
    const rows = all("tr", table).filter((row) => !row.hidden);
    return rows.map((row) => Array.from(row.cells).map((cell) => quoted(textOf(cell))).join(",")).join("\r\n") + "\r\n";
  }

  function download(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff" + text], { type: "text/csv" }));
    link.download = name.toLowerCase().replace(/[^a-z0-9]+/g, "-") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function setUpTables(inside) {
    for (const place of all("[data-table]", inside)) {
      const table = place.querySelector("table");
      if (!table || place.dataset.ready) { continue; }
      place.dataset.ready = "yes";
      // On a phone each row is a card, and says which figure is which.
      const names = all("thead th", table).map((each) => each.textContent.trim());
      for (const row of table.tBodies[0].rows) {
        Array.from(row.cells).forEach((cell, place) => { cell.dataset.label = names[place] || ""; });
      }
      for (const header of all("thead th", table)) {
        if (!header.textContent.trim()) { continue; }
        const button = document.createElement("button");
        button.type = "button";
        button.append(...header.childNodes);
        header.append(button);
        button.addEventListener("click", () => sortBy(table, header));
      }
      place.before(toolsOf(place, table));
    }
  }

  function toolsOf(place, table) {
    const tools = document.createElement("div");
    tools.className = "table-tools";
    if (place.hasAttribute("data-filter")) {
      const box = document.createElement("input");
      box.type = "search";
      box.placeholder = "Filter rows";
      box.setAttribute("aria-label", "Filter rows of " + place.dataset.table);
      box.addEventListener("input", () => {
        const wanted = box.value.toLowerCase();
        for (const row of table.tBodies[0].rows) { row.hidden = !row.textContent.toLowerCase().includes(wanted); }
      });
      tools.append(box);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.className = "ghost";
    button.textContent = "CSV";
    button.setAttribute("aria-label", "Download " + place.dataset.table + " as CSV");
    button.addEventListener("click", () => download(place.dataset.table, csvOf(table)));
    tools.append(button);
    return tools;
  }

  // --- staying up to date --------------------------------------------------------------------------------------------
  let mark = document.body.dataset.mark;
  let asking = false;

  async function lookForChanges() {
    if (asking || document.hidden || !all("[data-live]").length) { return; }
    asking = true;
    try {
      const answer = await fetch(document.body.dataset.changes);
      if (answer.status === 401) { location.reload(); return; }
      if (!answer.ok) { return; }
      const now = (await answer.json()).mark;
      if (now !== mark && (await refresh())) { mark = now; }
    } catch (error) { /* the server is away: the next time tells */ } finally { asking = false; }
  }

  function isBusy(place) {
    const at = document.activeElement;
    return place.contains(at) && /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) && at.value !== at.defaultValue;
  }

  async function refresh() {
    const answer = await fetch(location.href);
    if (!answer.ok || answer.redirected) { return false; }
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const places = all("[data-live]");
    if (places.some(isBusy)) { return false; }
    const scroll = [window.scrollX, window.scrollY];
    for (const place of places) {
      const newer = fresh.querySelector('[data-live="' + CSS.escape(place.dataset.live) + '"]');
      if (newer) { swap(place, newer); }
    }
    window.scrollTo(...scroll);
    document.getElementById("announce").textContent = "The page was brought up to date.";
    document.dispatchEvent(new CustomEvent("hardwon:refreshed"));
    return true;
  }

  function swap(place, newer) {
    const at = document.activeElement;
    const held = place.contains(at) ? [at.tagName, at.getAttribute("href"), at.id, at.getAttribute("name"), at.textContent] : null;
    const opened = all("details", place).map((each) => each.open);
    place.replaceChildren(...newer.childNodes);
    all("details", place).forEach((each, index) => { each.open = opened[index] || each.open; });
    setUp(place);
    if (held) {
      const same = all(held[0], place).find((each) => [each.tagName, each.getAttribute("href"), each.id, each.getAttribute("name"), each.textContent]
        .every((value, index) => value === held[index]));
      if (same) { same.focus({ preventScroll: true }); }
    }
  }

  // -------------------------------------------------------------------------------------------------------------------
  function setUp(inside) {
    setUpTables(inside);
    for (const choice of all("select[data-go]", inside)) {
      choice.addEventListener("change", () => { if (choice.value.startsWith("/ui/")) { location.assign(choice.value); } });
    }
  }

  setUpTheme();
  setUp(document);
  if (document.body.dataset.changes) {
    setInterval(lookForChanges, 1000 * Number(document.body.dataset.pollS));
    document.addEventListener("visibilitychange", lookForChanges);
  }
})();
