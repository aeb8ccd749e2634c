// Files of a data set: a folder at a time, fetched and removed. Names are anybody's: they are shown as text and never as markup.
"use strict";

(() => {
  const section = document.getElementById("files");
  if (!section) return;
  const say = JSON.parse(section.dataset.say);
  const words = JSON.parse(section.dataset.words);
  const box = section.querySelector(".list");
  const trail = section.querySelector(".crumbs");
  const here = `/api/v1/files/${section.dataset.set}`;
  const language = document.documentElement.lang;
  const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let after = "";

  function make(tag, text, more = {}) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    return Object.assign(made, more);
  }

  // UTC, as all times of the pages.
  const moment = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");

  function size(bytes) {
    let power = 0;
    while (power + 1 < UNITS.length && bytes >= 1024 ** (power + 1)) power += 1;
    const number = new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(bytes / 1024 ** power);
    return `${number} ${UNITS[power]}`;
  }

  // What a problem document says, in the page's language where that has words for it.
  function errorText(text, status) {
    if (status === 401) return say.logged_out;
    try {
      const [problem] = JSON.parse(text).problems;
      if (problem.code === "csrf") return say.logged_out;
      return words[problem.code] || [problem.what, problem.remedy].filter(Boolean).join(" ");
    } catch {
      return status ? `${say.failed} (${status})` : say.failed;
    }
  }

  async function ask(method, address, headers = {}, body = undefined) {
    const token = method === "GET" ? {} : { "x-csrf-token": section.dataset.csrf };
    let answer;
    try {
      answer = await fetch(address, { method, headers: { ...token, ...headers }, body });
    } catch {
      throw new Error(say.cut);
    }
    if (answer.ok) return answer;
    const text = await answer.text();
    throw Object.assign(new Error(errorText(text, answer.status)), { status: answer.status, body: text });
  }

  // The folder that is shown stands in the address, percent-encoded as the interface says it: a reload shows it again.
  function folder() {
    return location.hash.startsWith("#/") ? location.hash.slice(2) : "";
  }

  function plain(part) {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  }

  function note(text, kind = "muted") {
    box.replaceChildren(make("p", text, { className: kind }));
  }

  function crumbs() {
    const parts = folder().split("/").filter(Boolean);
    const links = [make("a", say.top, { href: "#/" })];
    parts.forEach((part, at) => links.push(make("a", plain(part), { href: `#/${parts.slice(0, at + 1).join("/")}` })));
    links.at(-1).setAttribute("aria-current", "true");
    trail.replaceChildren(...links.flatMap((link, at) => (at ? [" / ", link] : [link])));
  }

  function row(entry) {
    const line = make("tr");
    const name = make("td");
    if (entry.kind === "folder") name.append(make("a", `${entry.name}/`, { href: `#/${entry.path}` }));
    else name.append(entry.name);
    if (entry.kind === "link" || entry.kind === "other") name.append(" ", make("span", say[entry.kind], { className: "muted" }));
    line.append(name, make("td", entry.kind === "file" ? size(entry.size) : "—", { className: "num" }));
    line.append(make("td", entry.changed ? moment(entry.changed) : "—", { className: "nowrap" }));
    const act = make("td", undefined, { className: "act" });
    const address = `path=${encodeURIComponent(entry.path)}`;
    if (entry.kind === "file") {
      const link = make("a", say.download, { className: "button small", href: `${here}/content?${address}` });
      link.download = entry.name;
      link.setAttribute("aria-label", `${say.download}: ${entry.name}`);
      act.append(link);
    }
    if (section.dataset.change === "1") {
      const button = make("button", say.delete, { className: "small bad", type: "button" });
      button.setAttribute("aria-label", `${say.delete}: ${entry.name}`);
      button.addEventListener("click", () => remove(entry, address, line));
      act.append(button);
    }
    line.append(act);
    return line;
  }

  async function remove(entry, address, line) {
    if (!window.confirm(say.sure.replace("%(name)s", () => entry.name))) return;
    try {
      await ask("DELETE", `${here}?${address}`);
      line.remove();
      if (!box.querySelector("tbody tr")) show();
    } catch (error) {
      line.cells[0].append(make("span", error.message, { className: "sub error" }));
    }
  }

  function table(entries, next) {
    const head = make("tr");
    for (const [text, kind] of [[say.name], [say.size, "num"], [say.changed]])
      head.append(make("th", text, { scope: "col", className: kind || "" }));
    const last = make("th", undefined, { scope: "col" });
    last.append(make("span", say.actions, { className: "hidden" }));
    head.append(last);
    const body = make("tbody");
    body.append(...entries.map(row));
    const made = make("table", undefined, { className: "dense" });
    const top = make("thead");
    top.append(head);
    made.append(top, body);
    const around = make("div", undefined, { className: "scroll", tabIndex: 0 });
    around.setAttribute("role", "region");
    around.setAttribute("aria-label", say.table);
    around.append(made);
    const pager = make("nav", undefined, { className: "pager" });
    pager.setAttribute("aria-label", say.pages);
    for (const [text, to] of [[say.first, after && ""], [say.next, next]])
      if (to || (to === "" && after)) {
        const button = make("button", text, { type: "button" });
        button.addEventListener("click", () => show(to));
        pager.append(button);
      }
    box.replaceChildren(around, ...(pager.childElementCount ? [pager] : []));
    around.dispatchEvent(new Event("ava:table", { bubbles: true }));
  }

  async function show(from = "") {
    const path = folder();
    crumbs();
    const query = new URLSearchParams({ path, limit: "100", ...(from ? { after: from } : {}) });
    try {
      const page = await (await ask("GET", `${here}?${query}`)).json();
      // Meanwhile another folder may have been chosen.
      if (path !== folder()) return;
      after = from;
      if (page.items.length || from) table(page.items, page.next);
      else note(path ? say.empty_folder : say.empty);
    } catch (error) {
      if (path === folder()) note(error.message, "error");
    }
  }

  window.addEventListener("hashchange", () => show());
  section.addEventListener("changed", () => show(after));
  // What sends files works with the same words, the same folder and the same way of asking.
  window.avaFiles = { section, say, errorText, ask, folder, plain, make, size, here };
  show();
})();
