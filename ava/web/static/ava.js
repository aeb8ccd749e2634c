// What pages do by themselves: ask before something ends, open the menu, copy a secret, and tell of a page that is out of date.
"use strict";

// A pod is called RUN-ATTEMPT-ROLE-INDEX; the pages call it by its role and index, and by its attempt from the second on.
function podName(pod, run, attempts) {
  const [, attempt, role, index] = pod.match(/^[^-]+-(\d+)-(.+)-(\d+)$/) || [];
  if (!pod.startsWith(`${run}-`)) return pod;
  if (role === undefined) return pod.slice(run.length + 1);
  return `${role} ${index}` + (attempt === "0" ? "" : `, ${attempts.replace("#", Number(attempt) + 1)}`);
}

document.addEventListener("submit", (event) => {
  const asked = event.target.dataset.confirm;
  if (asked && !window.confirm(asked)) event.preventDefault();
});

document.addEventListener("click", (event) => {
  const menu = event.target.closest("[data-menu]");
  if (menu) {
    const open = document.body.classList.toggle("menu-open");
    menu.setAttribute("aria-expanded", String(open));
  }
  const fill = event.target.closest("[data-fill]");
  if (fill) {
    const field = document.getElementById(fill.dataset.fill);
    field.value = fill.dataset.value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const label = copy.textContent;
    navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent).then(() => {
      copy.textContent = copy.dataset.copied;
      setTimeout(() => (copy.textContent = label), 2000);
    });
  }
});

// A part that is not available leaves what is there; the next try may work. A log-out elsewhere leads to the login.
document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status === 404) location.reload();
});

// An error beside a field marks it, for eyes and for screen readers.
document.addEventListener("htmx:afterSettle", () => {
  for (const error of document.querySelectorAll(".field > .error")) {
    const wrong = error.textContent.trim() !== "";
    const input = error.parentElement.querySelector("input, select, textarea");
    error.parentElement.classList.toggle("wrong", wrong);
    if (wrong) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
});

// On a small screen the cells of a row stand below each other, each with its column's name; by their roles it stays a table.
function named(root) {
  for (const table of root.querySelectorAll(".scroll > table")) {
    const names = [...table.tHead.rows[0].cells].map((cell) => (cell.querySelector(".hidden") ? "" : cell.textContent.trim()));
    table.setAttribute("role", "table");
    for (const part of table.querySelectorAll("thead, tbody, tfoot")) part.setAttribute("role", "rowgroup");
    for (const row of table.rows) {
      row.setAttribute("role", "row");
      let at = 0;
      for (const cell of row.cells) {
        cell.setAttribute("role", cell.tagName === "TD" ? "cell" : cell.scope === "row" ? "rowheader" : "columnheader");
        if (cell.tagName === "TD" && names[at]) cell.dataset.label = names[at];
        at += cell.colSpan;
      }
    }
  }
}
named(document);
document.addEventListener("htmx:load", (event) => named(event.target));
document.addEventListener("ava:table", (event) => named(event.target));

// An invitation comes behind the #, which browsers send to no one, and does not stay in the address.
const invited = document.querySelector("[data-from-address]");
if (invited && location.hash.length > 1) {
  invited.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}
