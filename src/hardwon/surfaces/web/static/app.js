// What pages do beyond being read: themes, charts, tables, and staying up to date. Every page works without it.
(function () {
  "use strict";
  const root = document.documentElement;
  const all = (selector, inside) => Array.from((inside || document).querySelectorAll(selector));

  // --- theme ---------------------------------------------------------------------------------------------------------
  const darkMedia = window.matchMedia("(prefers-color-scheme: dark)");
  const narrowMedia = window.matchMedia("(max-width: 639.98px)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : darkMedia.matches);

  function setUpTheme() {
    for (const button of all("[data-theme-switch]")) {
      button.hidden = false;
      button.setAttribute("aria-pressed", String(isDark()));
      button.addEventListener("click", () => {
        root.dataset.theme = isDark() ? "light" : "dark";
        button.setAttribute("aria-pressed", String(isDark()));
        try { localStorage.setItem("hardwon-theme", root.dataset.theme); } catch (error) { /* it holds for this page */ }
        drawCharts(document);
      });
    }
    for (const media of [darkMedia, narrowMedia]) { media.addEventListener("change", () => drawCharts(document)); }
  }

  // --- charts --------------------------------------------------------------------------------------------------------
  function themed(value, colours) {
    if (typeof value === "string" && value.startsWith("$")) {
      const [name, opacity] = value.slice(1).split("/");
      const colour = colours.getPropertyValue("--" + name).trim();
      return opacity ? faded(colour, Number(opacity)) : colour;
    }
    if (Array.isArray(value)) { return value.map((inner) => themed(inner, colours)); }
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, themed(inner, colours)]));
    }
    return value;
  }

  function faded(colour, opacity) {
    const parts = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
    return "rgba(" + parts.join(",") + "," + opacity + ")";
  }

  function layoutOf(given, colours) {
    const ink = colours.getPropertyValue("--ink").trim();
    const line = colours.getPropertyValue("--line").trim();
    const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 48, r: 12, t: 12, b: 40 },
      font: { color: ink, family: "system-ui, sans-serif", size: 12 }, legend: { orientation: "h", y: -0.2 },
      colorway: [1, 2, 3, 4, 5, 6].map((each) => colours.getPropertyValue("--series" + each).trim()),
      ...given,
    };
    for (const name of Object.keys(given).concat(["xaxis", "yaxis"])) {
      if (/^[xy]axis\d*$/.test(name)) { layout[name] = { ...axis, ...(given[name] || {}) }; }
    }
    return layout;
  }

  function drawCharts(inside) {
    if (!window.Plotly) { return; }
    const colours = getComputedStyle(root);
    for (const place of all("[data-chart]", inside)) {
      const source = document.getElementById(place.dataset.chart);
      if (!source) { continue; }
      const figure = themed(JSON.parse(source.textContent), colours);
      // a phone has no room for the scale of colours, nor for many columns; the text below tells so
      if (narrowMedia.matches && figure.data[0].type === "heatmap") {
        figure.data[0].showscale = false;
        figure.layout.xaxis.range = [-0.5, Math.min(figure.data[0].x.length, 6) - 0.5];
      }
      const config = { displaylogo: false, responsive: true, displayModeBar: false };
      window.Plotly.react(place, figure.data, layoutOf(figure.layout || {}, colours), config).then(() => {
        if (!place.dataset.drawn) {
          place.dataset.drawn = "yes";
          place.on("plotly_click", (event) => {
            const at = event.points && event.points[0];
            const to = at && at.customdata;
            if (typeof to === "string" && to.startsWith("/ui/")) { location.assign(to); }
          });
        }
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
      const answer = await fetch(document.body.dataset.changes, { headers: { "X-Hardwon-Live": "1" } });
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
    const answer = await fetch(location.href, { headers: { "X-Hardwon-Live": "1" } });
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
    if (window.Plotly) { all("[data-chart]", place).forEach((each) => window.Plotly.purge(each)); }
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
    drawCharts(inside);
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
