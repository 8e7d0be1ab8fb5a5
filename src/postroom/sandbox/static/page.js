// Brings the page up to date by itself, and sends its forms without leaving it: what is half typed stays.
"use strict";

const say = (id, text) => { document.getElementById(id).textContent = text; };
let asking = false;
let again = false;

function take(fresh) {
  const focused = document.activeElement?.id;
  for (const part of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(part.id);
    for (const open of part.querySelectorAll("details[open]")) fresh.getElementById(open.id)?.setAttribute("open", "");
    if (now.innerHTML === part.innerHTML) continue;
    part.replaceChildren(...now.childNodes);
    if (part.dataset.said) say("news", part.dataset.said);
  }
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
}

async function page(path, how) {
  const answer = await fetch(path, how);
  return [answer, new DOMParser().parseFromString(await answer.text(), "text/html")];
}

async function refresh() {
  if (asking) { again = true; return; }
  asking = true;
  do {
    again = false;
    try { take((await page(location.href))[1]); } catch { away(); }
  } while (again);
  asking = false;
}

function away() { say("problem", "The sandbox does not answer."); }

document.addEventListener("submit", async event => {
  const form = event.target;
  if (form.method !== "post") return;
  event.preventDefault();
  try {
    const [answer, fresh] = await page(form.action, { method: "POST", body: new FormData(form, event.submitter) });
    say("problem", fresh.getElementById("problem")?.textContent || (answer.ok ? "" : "The sandbox refused this."));
    if (!answer.ok) return;
    take(fresh);
    if (!form.id) return;
    form.replaceChildren(...fresh.getElementById(form.id).childNodes);
    history.replaceState(null, "", answer.url);
    form.querySelector("textarea").focus();
  } catch { away(); }
});

const changes = new EventSource("/sandbox/changes");
changes.addEventListener("message", refresh);
changes.addEventListener("error", away);
changes.addEventListener("open", () => say("problem", ""));
