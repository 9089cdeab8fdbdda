
"use strict";
(() => {
  /* Opens cells, filters the matrix, draws plots. Stored texts reach the page as text nodes only, never as markup. */
  const SVG = "http://www.w3.org/2000/svg";
  const PAGE = 100;      /* records that are shown at once */
  const LONG = 300;      /* characters of a text that gets a box of its own to scroll in */
  const KEPT = 40;       /* unpacked ports that are kept */
  const byId = (id) => document.getElementById(id);
  const index = JSON.parse(byId("index").textContent);
  const chunks = new Map();

  /* ---- texts and elements */
  const shown = (text) => String(text).replace(/(?![ \n])[\p{C}\p{Z}]/gu, (sign) => {
    const code = sign.codePointAt(0).toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : code.length > 2 ? `\\u${code.padStart(4, "0")}`
      : `\\x${code.padStart(2, "0")}`;
  });
  const value = (what) => what === null ? "" : typeof what === "string" ? what : JSON.stringify(what);
  const fill = (node, attributes, children) => {
    for (const [name, content] of Object.entries(attributes || {})) { node.setAttribute(name, content); }
    for (const child of children.flat(2)) {
      if (child !== null && child !== undefined && child !== "") {
        node.append(child instanceof Node ? child : document.createTextNode(shown(child)));
      }
    }
    return node;
  };
  const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
  const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
  const text = (what) => { const found = value(what); return el("bdi", found.length > LONG ? { class: "long" } : {}, found); };
  const chip = (status) => el("span", { class: `chip ${status}` }, status);
  const number = (what) => what.toLocaleString("en-US", { maximumFractionDigits: what < 100 ? 2 : 0 });
  const seconds = (what) => String(Number(what.toPrecision(4)));
  const named = (fields, row) => Object.fromEntries(fields.map((field, place) => [field, row[place]]));

  /* ---- packed data */
  async function unpack(id) {
    if (typeof DecompressionStream !== "function") {
      throw new Error("this browser cannot unpack details (it has no DecompressionStream); a newer one can");
    }
    const packed = Uint8Array.from(atob(byId(id).textContent), (sign) => sign.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }
  function portData(port) {
    if (!chunks.has(port)) {
      if (chunks.size >= KEPT) { chunks.delete(chunks.keys().next().value); }
      chunks.set(port, unpack(`d${port}`).then((data) => {
        const checks = data.checks.map((row) => named(index.check, row));
        data.records = data.records.map((row) => {
          const record = named(index.record, row);
          record.checks = record.checks && record.checks.map((place) => checks[place]);
          record.build = named(index.build, data.builds[record.build]);
          record.labels = data.labels[record.labels];
          return record;
        });
        return data;
      }));
    }
    return chunks.get(port);
  }

  /* ---- one record */
  function table(heads, rows, kind) {
    return el("div", { class: "box" }, el("table", { class: kind },
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows)));
  }
  function checksTable(record) {
    if (record.checks === null) {
      return [el("p", { class: "note" }, "The checks of this PASS are not in this page, which would be too large; the query below shows them.")];
    }
    if (!record.checks.length) { return [el("p", { class: "quiet" }, "This verdict has no checks; its cause says why.")]; }
    const bad = record.checks.filter((check) => check.status !== "PASS" && check.required), good = record.checks.filter((check) => !bad.includes(check));
    if (!bad.length) { return [rowsOfChecks(good)]; }
    const kept = el("details", {}, el("summary", {}, `${good.length} more checks that are PASS, or inform only`));
    kept.addEventListener("toggle", () => { if (kept.open && kept.childElementCount === 1) { kept.append(rowsOfChecks(good)); } });
    return [rowsOfChecks(bad), good.length ? kept : ""];
  }
  function rowsOfChecks(checks) {
    const says = checks.some((check) => check.message);
    return table(["check", "status", "expected", "seen", "where", ...(says ? ["message"] : [])], checks.map((check) => el("tr", {},
      el("th", { scope: "row" }, text(check.name), check.required ? "" : el("span", { class: "optional" }, " (informs only)")),
      el("td", {}, chip(check.status)), el("td", { class: "expected" }, text(check.expected)),
      el("td", { class: "seen" }, text(check.seen)), el("td", {}, text(check.where)), says ? el("td", {}, text(check.message)) : "")), "checks");
  }
  const quoted = (what) => `'${String(what).replace(/'/g, "''")}'`;
  function query(record, port) {
    const [run, device, portId] = index.ports[port];
    const [plan, scenario] = index.cases[record.case];
    const where = record.record_id ? `record_id = ${quoted(record.record_id)}`
      : `device_id = ${quoted(device)} and port_id = ${quoted(portId)} and priority ${record.priority < 0 ? "is null" : `= ${record.priority}`}`
        + ` and plan_id = ${quoted(plan)} and scenario = ${quoted(scenario)} and metric_name = ${quoted(index.metrics[record.metric])}`;
    return `select * from records left join checks using (run_id, record_id) where run_id = ${quoted(index.runs[run].run_id)} and ${where}`;
  }
  const FILE = /^evidence(\/(?!\.)[A-Za-z0-9._-]+)+$/;  /* as the suite names them: no other text becomes a link */
  function fileOf(name, port) {
    return index.runs[index.ports[port][0]].links && FILE.test(name) ? el("a", { href: name }, text(name)) : text(name);
  }
  function deviation(one) {
    if (one === null || typeof one !== "object" || !one.name) { return text(one); }
    const { name, value: what, instead_of: usual, reason, since, asics, ...rest } = one, more = Object.keys(rest).length ? rest : null;
    return el("span", {}, text(name), what === undefined ? "" : [" is ", text(what)], usual === undefined ? "" : [", not ", text(usual)], asics && asics.length ? [" on ", text([].concat(asics).join(", "))] : "",
      reason ? [": ", text(reason)] : "", since ? [" (since ", text(since), ")"] : "", more ? [" ", text(more)] : "");
  }
  function evidence(record, port) {
    if (record.evidence === null) {
      return el("p", { class: "note" }, `The evidence of this ${record.status} is not in this page, which would be too large; the query below shows it.`);
    }
    if (!Object.keys(record.evidence).length) { return el("p", { class: "quiet" }, "This record has no evidence."); }
    const files = Array.isArray(record.evidence.files) ? record.evidence.files : [];
    const rest = el("details", {}, el("summary", {}, "evidence"));
    rest.addEventListener("toggle", () => {
      if (rest.open && rest.childElementCount === 1) { rest.append(el("pre", { tabindex: "0" }, JSON.stringify(record.evidence, null, 1))); }
    });
    const missing = Array.isArray(record.evidence.files_missing) ? record.evidence.files_missing : [];
    return [missing.length ? el("p", { class: "note" }, `${missing.length} files that belong to it are missing; the evidence names them.`) : "", files.length ? el("details", {}, el("summary", {}, `${files.length} files in the run's folder`),
      el("ul", {}, files.map((file) => el("li", {}, fileOf(file, port))))) : "", rest];
  }
  function latencies(record) {  /* as the suite writes them: class -> nanoseconds */
    const found = record.evidence && record.evidence.latency_ns;
    const rows = found && typeof found === "object" ? Object.entries(found).filter(([, ns]) => Number.isFinite(ns)) : [];
    return rows.length ? el("dl", { class: "latency" }, rows.map(([label, ns], place) => [el("dt", {}, place ? "" : "average latency"),
      el("dd", {}, text(`${label}: ${ns < 1e4 ? `${ns.toFixed(1)} ns` : ns < 1e7 ? `${(ns / 1e3).toFixed(1)} µs` : `${(ns / 1e6).toFixed(1)} ms`}`))])) : "";
  }
  function facts(record, port) {
    const time = new Date(index.runs[index.ports[port][0]].started_ms + record.at_ms).toISOString().replace("T", " ").replace("Z", " UTC");
    const pairs = [["measured", time], ["replaces", record.replaces && `${record.replaces}, an ERROR that this is another try of`],
      ["counts", record.counts ? null : "no: it was tried again later"], ["allowed for", record.deviations.length ? record.deviations.map((one, place) => [place ? el("br") : "", deviation(one)]) : null],
      ["labels", Object.keys(record.labels).length ? record.labels : null], ["further", Object.keys(record.extra).length ? record.extra : null],
      ["build", [record.build.os_version, record.build.hwsku].filter(Boolean).join(", ")], ["on behalf of", record.build.on_behalf_of],
      ["software", record.build.software_version], ["whole record", query(record, port)]];
    return el("dl", {}, pairs.filter(([, what]) => what).map(([name, what]) => [el("dt", {}, name),
      el("dd", {}, name === "whole record" ? el("code", {}, what) : Array.isArray(what) && name === "allowed for" ? what.flat() : text(what))]));
  }
  function recordNode(record, port, open) {
    const [plan, scenario] = index.cases[record.case];
    const node = el("details", { class: "rec" }, el("summary", {}, chip(record.status), " ", text(`${plan} ${scenario}`), " ",
      el("span", { class: "quiet" }, text(index.metrics[record.metric]), record.priority < 0 ? "" : ` priority ${record.priority}${record.victims.length ? " tested" : ""}`, record.victims.length ? `, lost at ${record.victims.length > 1 ? "priorities" : "priority"} ${record.victims.join(", ")}` : "",
        record.counts ? "" : " (does not count: it was tried again)", record.cause ? [": ", text(record.cause)] : "")));
    const show = () => {
      if (node.open && node.childElementCount === 1) {
        node.append(...checksTable(record).filter(Boolean), ...record.plots.map((plot) => figure(ownFirst(plot, index.ports[port][2]), node.clientWidth)), latencies(record), facts(record, port),
          ...[evidence(record, port)].flat().filter(Boolean));
      }
    };
    node.addEventListener("toggle", show);
    node.show = () => { node.open = true; show(); };
    node.wanted = open;
    return node;
  }

  /* ---- plots: one lane for each class (rate) and PFC counter, all over the same time */
  const LEFT = 8, ROW = 52, HEAD = 15, CHARACTER = 6.2, LINE = 12;
  function figure(plot, width) {
    const title = plot.title ? `${plot.title}: ` : "";
    if (plot.problem) { return el("p", { class: "note" }, title + plot.problem); }
    return el("figure", {}, el("figcaption", {}, text(`${title}receive rate (line) and sent rate (dotted) of each class, then frames that had been sent and not received, and PFC frames that the switch counted (lines); a storm is shaded, between dashed lines`)),
      drawing(plot, Math.max(280, Math.min(860, (width || 640) - 24))), values(plot));
  }
  function drawing(plot, width) {
    const begin = plot.times[0], end = Math.max(plot.times[plot.times.length - 1], begin + 1e-9);
    const x = (time) => LEFT + (Math.min(Math.max(time, begin), end) - begin) / (end - begin) * (width - 2 * LEFT);
    const labels = stormLabels(plot.storms, x, width), top = 8 + LINE * labels.lines;
    const height = top + ROW * plot.rows.length + 22;
    const root = svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": summary(plot) });
    plot.storms.forEach((storm) => root.append(...stormNodes(storm, x, top, height - 22)));
    root.append(...labels.nodes);
    plot.rows.forEach((row, place) => root.append(...rowNodes(row, plot.times, x, top + ROW * place, width)));
    for (let tick = 0; tick <= 4; tick += 1) {
      const time = begin + (end - begin) * tick / 4;
      root.append(svg("text", { class: "quiet", x: x(time), y: height - 6, "text-anchor": ["start", "middle", "middle", "middle", "end"][tick] }, `${seconds(time)} s`));
    }
    return root;
  }
  function stormLabels(storms, x, width) {
    const ends = [], nodes = [];
    [...storms].sort((one, other) => one.begin - other.begin).forEach((storm) => {
      const label = `${storm.label}, ${seconds(storm.begin)} to ${seconds(storm.end)} s`, long = label.length * CHARACTER;
      const left = Math.max(2, Math.min(x(storm.begin), width - long));
      let line = ends.findIndex((end) => end <= left);
      if (line < 0) { line = ends.length; ends.push(0); }
      ends[line] = left + long + 8;
      nodes.push(svg("text", { class: "storms", x: left, y: 10 + LINE * line }, label));
    });
    return { nodes, lines: ends.length };
  }
  function stormNodes(storm, x, top, bottom) {
    const left = x(storm.begin), right = Math.max(x(storm.end), left + 1);
    const nodes = [svg("rect", { class: "storm", x: left, y: top - 4, width: right - left, height: bottom - top + 4 })];
    return [...nodes, svg("line", { class: "edge", x1: left, x2: left, y1: top - 4, y2: bottom }), svg("line", { class: "edge", x1: right, x2: right, y1: top - 4, y2: bottom })];
  }
  function rowNodes(row, times, x, top, width) {
    const bottom = top + ROW - 4, y = (what) => bottom - (row.most ? what / row.most : 0) * (ROW - HEAD - 7);
    const nodes = [svg("line", { class: "axis", x1: LEFT, x2: width - LEFT, y1: bottom, y2: bottom }), svg("text", { x: LEFT, y: top + 11 }, legend(row).length * CHARACTER < width - LEFT ? legend(row) : inShort(row))];
    const steps = (rates) => rates.map((rate, place) => rate === null ? "" : `${place && rates[place - 1] !== null ? "L" : "M"}${x(times[place]).toFixed(1)} ${y(rate).toFixed(1)}H${x(times[place + 1]).toFixed(1)}`).join("");
    if (row.tx) { nodes.push(svg("path", { class: "tx", d: steps(row.tx) })); }
    if (row.rx) { nodes.push(svg("path", { class: "rx", d: steps(row.rx) })); }
    if (row.counts) { nodes.push(svg("polyline", { class: "rx", points: row.counts.map((what, place) => `${x(row.at[place]).toFixed(1)},${y(what).toFixed(1)}`).join(" ") })); }
    return nodes;
  }
  const SIZES = [[1e9, " G"], [1e6, " M"], [1e3, " k"]];
  function brief(what) {
    const [size, unit] = SIZES.find(([least]) => what >= least) || [1, ""];
    return `${Number((what / size).toPrecision(3))}${unit}`;
  }
  function inShort(row) {  /* for a phone, which would cut the rest off */
    if (row.kind === "count") { return `${row.label.replace("in the switch, or lost", "held or lost")}: ${brief(row.most)}`; }
    return `${row.label}: ${brief(row.most)}/s${row.rx === null ? " sent" : row.in_storm === null ? "" : `, in storm ${brief(row.in_storm)}`}`;
  }
  /* of PFC counters those of the record's own port come first: a wave has those of many */
  function ownFirst(plot, portId) {
    const rank = (row) => !/: PFC (received|sent)$/.test(row.label) ? 0 : ` ${row.label}`.includes(` ${portId} priority `) ? 1 : 2;
    return plot.rows ? { ...plot, rows: [...plot.rows].sort((one, other) => rank(one) - rank(other)) } : plot;
  }
  function legend(row) {
    if (row.kind === "count") { return `${row.label}: ${number(row.most)} frames`; }
    return `${row.label}: at most ${number(row.most)} frames/s${row.rx === null ? " sent" : row.in_storm === null ? "" : `, received in the storm at most ${number(row.in_storm)}`}`;
  }
  const summary = (plot) => `${plot.rows.map(legend).join("; ")}. ${plot.storms.map((storm) => `${storm.label} from ${storm.begin} to ${storm.end} s`).join("; ")}`;
  function values(plot) {
    const rates = plot.rows.filter((row) => row.rx);
    const node = el("details", {}, el("summary", {}, "values of the plot"));
    node.addEventListener("toggle", () => {
      if (node.open && node.childElementCount === 1) {
        node.append(table(["from s", "to s", ...rates.map((row) => `${row.label}, frames/s`)],
          plot.times.slice(1).map((time, place) => el("tr", {}, [plot.times[place], time, ...rates.map((row) => row.rx[place])]
            .map((what) => el("td", {}, what === null ? "–" : number(what))))), "values"));
      }
    });
    return node;
  }

  /* ---- opening a cell */
  const parts = (id) => { const found = /^c(\d+)-(all|p\d|m\d+)$/.exec(id); return found && { port: Number(found[1]), column: found[2] }; };
  const filter = { metric: -1, case: -1 };
  const RANK = { FAIL: 0, ERROR: 1, PASS: 2 };
  function wantedRecords(data, column) {
    const priority = column === "all" ? -1 : column[0] === "p" ? Number(column.slice(1)) : null;
    const metric = column[0] === "m" ? Number(column.slice(1)) : filter.metric;
    return data.records.filter((record) => (priority === null || (record.victims.length ? record.victims.includes(priority) : record.priority === priority)) && (metric < 0 || record.metric === metric)
      && (column[0] === "m" || filter.case < 0 || record.case === filter.case))
      .sort((one, other) => (RANK[one.status] + 3 * !one.counts) - (RANK[other.status] + 3 * !other.counts));
  }
  function paneOf(button, { port, column }, data) {
    const [, device, portId] = index.ports[port], records = wantedRecords(data, column);
    const where = column === "all" ? "all priorities together" : column[0] === "p" ? `priority ${column.slice(1)}` : index.metrics[column.slice(1)];
    const close = el("button", {}, "close");
    close.addEventListener("click", () => shut(button));
    const pane = el("div", { class: "pane", role: "region", tabindex: "-1", "aria-label": shown(`${device} ${portId} ${where}`.slice(0, 200)) },
      el("div", { class: "panehead" }, el("b", {}, text(device), " ", text(portId), " ", text(where)), el("span", { class: "quiet" }, `${records.length} records`), close));
    for (const [name, status, cause] of data.metrics) {
      if (column === `m${index.metrics.indexOf(name)}` && (cause || !records.length)) { pane.append(el("p", {}, chip(status), " ", text(name), cause ? [": ", text(cause)] : "")); }
    }
    if (!records.length) { pane.append(el("p", {}, "No verdict: nothing was measured here", filter.case >= 0 || filter.metric >= 0 ? " that the filter lets through." : ".")); }
    more(pane, records, port, 0);
    pane.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); shut(button); } });
    return pane;
  }
  function more(pane, records, port, from) {
    const bad = records.filter((record) => record.counts && record.status !== "PASS").length;
    const end = from ? from + PAGE : bad ? Math.min(bad, PAGE) : PAGE;
    const nodes = records.slice(from, end).map((record, place) => recordNode(record, port, record.counts && (record.status !== "PASS" ? from + place < 5 : records.length === 1)));
    pane.append(...nodes);
    if (end < records.length) {
      const left = Math.min(PAGE, records.length - end), what = end >= bad ? "that are PASS, or do not count" : "";
      const button = el("button", { class: "more" }, `show ${left} more of ${records.length} ${what}`.trim());
      button.addEventListener("click", () => { button.remove(); more(pane, records, port, end); });
      pane.append(button);
    }
    pane.opening = nodes.filter((node) => node.wanted);
  }
  function shut(button, back = true) {
    const row = byId(`o${button.id}`);
    if (row) { row.remove(); }
    button.setAttribute("aria-expanded", "false");
    if (back) { button.focus(); }
  }
  async function open(button) {
    const place = parts(button.id);
    for (let up = button.closest("details"); up; up = up.parentElement.closest("details")) { up.open = true; }
    current(button);
    if (byId(`o${button.id}`)) { return; }
    const cell = el("td", { colspan: button.closest("tr").cells.length });
    const row = el("tr", { id: `o${button.id}`, class: "opened" }, cell);
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-controls", row.id);
    button.closest("tr").after(row);
    let pane;
    try {
      pane = paneOf(button, place, await portData(place.port));
    } catch (error) {
      pane = el("div", { class: "pane", tabindex: "-1" }, el("p", { class: "note" }, `The details cannot be shown: ${error.message}.`));
    }
    cell.append(pane);
    (pane.opening || []).forEach((node) => node.show());
    pane.focus({ preventScroll: true });
    button.scrollIntoView({ block: "nearest" });
    pane.dataset.ready = "yes";
  }

  /* ---- the matrix as a grid: one stop for Tab, arrows within */
  const cellsOf = (row) => [...row.querySelectorAll("button[id^=c]")];
  const rowsOf = (grid) => [...grid.tBodies[0].rows].filter((row) => row.dataset.port && row.offsetParent !== null);
  function current(button) {
    button.closest("table").querySelectorAll("button[tabindex='0'][id^=c]").forEach((other) => { other.tabIndex = -1; });
    button.tabIndex = 0;
  }
  function go(button) { if (button) { current(button); button.focus(); } }
  function move(event) {
    const button = event.target.closest("button[id^=c]");
    if (!button || event.ctrlKey || event.altKey || event.metaKey) { return; }
    const rows = rowsOf(event.currentTarget), row = button.closest("tr"), line = rows.indexOf(row), cells = cellsOf(row), place = cells.indexOf(button);
    const at = (which) => cellsOf(rows[Math.max(0, Math.min(rows.length - 1, which))])[place];
    const steps = { ArrowLeft: () => cells[place - 1], ArrowRight: () => cells[place + 1], ArrowUp: () => at(line - 1), ArrowDown: () => at(line + 1),
      Home: () => cells[0], End: () => cells[cells.length - 1], PageUp: () => at(line - 10), PageDown: () => at(line + 10),
      n: () => beside(rows, button, 1), N: () => beside(rows, button, -1) };
    if (event.key === "Escape") { shut(button); } else if (steps[event.key]) { event.preventDefault(); go(steps[event.key]()); }
  }
  function beside(rows, button, step) {
    const all = rows.flatMap(cellsOf), bad = (one) => one.classList.contains("FAIL") || one.classList.contains("ERROR");
    for (let place = all.indexOf(button) + step; place >= 0 && place < all.length; place += step) { if (bad(all[place])) { return all[place]; } }
    return null;
  }

  /* ---- filters */
  let codes = null;
  async function apply() {
    filter.metric = Number(byId("metric").value);
    filter.case = Number(byId("case").value);
    codes = codes || await unpack("codes");
    if (filter.metric >= 0 || filter.case >= 0) {  /* what is PASS in all may be none of what is asked for */
      document.querySelectorAll("#matrix details.good").forEach((node) => { node.open = true; });
    }
    const total = [0, 0, 0];
    document.querySelectorAll("tr.opened").forEach((row) => shut(byId(row.id.slice(1)), false));
    document.querySelectorAll(".matrix tr[data-port]").forEach((row) => filterRow(row, total));
    document.querySelectorAll(".matrix").forEach((grid) => grid.classList.toggle("only-bad", byId("bad").checked));
    byId("filtered").textContent = `verdicts: ${index.statuses.map((status, place) => `${number(total[place])} ${status}`).join(", ")}`;
  }
  function filterRow(row, total) {
    const found = new Map(), list = codes[row.dataset.port] || [];
    for (let place = 0; place < list.length; place += 5) {
      if ((filter.case < 0 || list[place + 1] === filter.case) && (filter.metric < 0 || list[place + 2] === filter.metric)) {
        const key = list[place] < 0 ? "all" : `p${list[place]}`;
        if (!found.has(key)) { found.set(key, [0, 0, 0]); }
        found.get(key)[list[place + 3]] += 1;
        total[list[place + 3]] += list[place + 4];
      }
    }
    let good = filter.case < 0 || found.size > 0;  /* what was not measured is not PASS */
    cellsOf(row).forEach((button) => {
      if (button.classList.contains("metric")) {
        const other = filter.metric >= 0 && parts(button.id).column !== `m${filter.metric}`, is = (name) => button.classList.contains(name);
        good = good && (other || (filter.case < 0 ? is("PASS") : !is("unmeasured")));  /* a metric says nothing of one test case */
      } else {
        good = label(button, found.get(parts(button.id).column)) && good;
      }
    });
    row.classList.toggle("good", good);
  }
  function label(button, counts) {
    if (!counts) { button.className = "none"; button.textContent = "–"; return true; }
    const all = counts[0] + counts[1] + counts[2], worst = counts[1] ? 1 : counts[2] ? 2 : 0;
    button.className = index.statuses[worst];
    button.textContent = `${index.statuses[worst]} ${worst ? `${counts[worst]}/${all}` : all}`;
    return !worst;
  }

  /* ---- a matrix that fits needs no box to scroll in, and its head can stay in sight */
  function fit() {
    document.querySelectorAll("details[open] > .box.wide").forEach((box) => {
      box.classList.remove("fits");
      box.classList.toggle("fits", box.scrollWidth <= box.clientWidth);
    });
  }

  /* ---- start */
  async function example(node) {
    try {
      const data = await portData(Number(node.dataset.port));
      const record = data.records.find((one) => one.record_id === node.dataset.record);
      if (record) {
        const shownRecord = recordNode(record, Number(node.dataset.port), true);
        node.append(el("p", { class: "quiet" }, "The first of them:"), shownRecord);
        shownRecord.show();
      }
    } catch (error) { node.append(el("p", { class: "note" }, `The first of them cannot be shown: ${error.message}.`)); }
  }
  function follow() {
    const id = decodeURIComponent(location.hash.slice(1)), button = parts(id) && byId(id);
    if (button) { open(button); button.scrollIntoView({ block: "center" }); return; }
    const row = /^r\d+$/.test(id) && byId(id);
    for (let up = row && row.closest("details"); up; up = up.parentElement.closest("details")) { up.open = true; }
    if (row) { row.scrollIntoView({ block: "center" }); }
  }
  document.querySelectorAll(".controls").forEach((node) => { node.hidden = false; });
  document.querySelectorAll(".matrix").forEach((grid) => {
    grid.addEventListener("keydown", move);
    grid.addEventListener("click", (event) => {
      const button = event.target.closest("button[id^=c]");
      if (button && button.getAttribute("aria-expanded") === "true") { shut(button); } else if (button) { open(button); }
    });
    const first = grid.querySelector("button[id^=c]");
    if (first) { first.tabIndex = 0; }
  });
  if (matchMedia("(max-width: 40rem)").matches) {  /* a phone begins with what decides: the rest is one touch away */
    document.querySelectorAll("details.group").forEach((node) => { node.open = false; });
  }
  ["metric", "case", "bad"].forEach((id) => byId(id).addEventListener("change", apply));
  document.querySelectorAll("button.filter").forEach((button) => button.addEventListener("click", () => {
    byId("case").value = button.value;
    apply();
    byId("matrix").scrollIntoView();
    byId("case").focus({ preventScroll: true });
  }));
  window.addEventListener("hashchange", follow);
  window.addEventListener("resize", fit);
  document.querySelectorAll(".device").forEach((node) => node.addEventListener("toggle", fit));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#c'], a[href^='#r']");
    if (link && link.hash === location.hash) { follow(); }
  });
  window.addEventListener("beforeprint", () => document.querySelectorAll("details[data-print]").forEach((node) => { node.open = true; }));
  Promise.all([...document.querySelectorAll(".example")].map(example)).then(() => { document.documentElement.dataset.ready = "yes"; });
  fit();
  follow();
})();
