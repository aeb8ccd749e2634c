// What pages do by themselves: ask before something ends, open the menu, copy a secret, and tell of a page that is out of date.
"use strict";

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
  const copy = event.target.closest("[data-copy]");
  if (copy) navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent);
});

// A part that cannot be had leaves what is there; the next try may work. A log-out elsewhere leads to the log-in.
document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status === 404) location.reload();
});

// An invitation comes behind the #, which browsers send to nobody, and does not stay in the address.
const invited = document.querySelector("[data-from-address]");
if (invited && location.hash.length > 1) {
  invited.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}
