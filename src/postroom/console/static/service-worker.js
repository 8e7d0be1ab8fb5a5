// The console as an app: a page for when the network is away, and notifications. Nothing private is ever kept here.
"use strict";

const SHELL = "postroom-shell-{{version}}";
const SEEN = "postroom-seen"; // which deliveries were shown, by their ids alone
const MOST_SEEN = 200;
const OFFLINE = "/console/offline";
const FILES = [
  OFFLINE,
  "/console/static/console.css",
  "/console/static/frame.css",
  "/console/static/app.css",
  "/console/static/icon.svg",
  "/console/static/icon-192.png",
];

self.addEventListener("install", (event) => {
  const fresh = FILES.map((path) => new Request(path, { cache: "reload", credentials: "omit" }));
  event.waitUntil(caches.open(SHELL).then((shell) => shell.addAll(fresh)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(caches.keys().then((names) => Promise.all(
    names.filter((name) => name.startsWith("postroom-") && name !== SHELL && name !== SEEN).map((name) => caches.delete(name)),
  )).then(() => self.clients.claim()));
});

// Pages and answers come from the household or not at all; only the shell's own files have a second copy.
self.addEventListener("fetch", (event) => {
  const request = event.request;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== self.location.origin) return;
  if (request.mode === "navigate") {
    event.respondWith(fetch(request).catch(() => kept(OFFLINE)));
  } else if (FILES.includes(url.pathname) && url.pathname !== OFFLINE) {
    event.respondWith(fetch(request).catch(() => kept(url.pathname)));
  }
});

async function kept(path) {
  const shell = await caches.open(SHELL);
  return (await shell.match(path)) || Response.error();
}

self.addEventListener("push", (event) => {
  event.waitUntil(arrived(event.data ? event.data.json() : null));
});

// A copy of what was shown before changes nothing: it neither rings, nor undoes what came after it.
async function arrived(told) {
  if (!told) return;
  const again = await isSeen(told);
  await remember(told);
  if (!again) return show(told, told.silent === true);
  const [current] = await self.registration.getNotifications({ tag: told.tag });
  await show(current ? current.data : told, true);
  if (!current) (await self.registration.getNotifications({ tag: told.tag })).forEach((one) => one.close());
}

function show(told, silent) {
  return self.registration.showNotification(told.title, {
    body: told.body,
    tag: told.tag,
    data: told,
    silent,
    renotify: false,
    icon: "/console/static/icon-192.png",
    requireInteraction: Boolean(told.actions),
    actions: (told.actions || []).map((one, place) => ({ action: String(place), title: one.title })),
  });
}

function names(told) {
  const place = "/console/seen/";
  return told.silent ? [place + told.id, place + "edited-" + told.tag] : [place + told.id];
}

async function isSeen(told) {
  const seen = await caches.open(SEEN);
  const path = "/console/seen/";
  if (await seen.match(path + told.id)) return true;
  return !told.silent && Boolean(await seen.match(path + "edited-" + told.tag));
}

async function remember(told) {
  const seen = await caches.open(SEEN);
  for (const name of names(told)) await seen.put(name, new Response(""));
  const all = await seen.keys();
  await Promise.all(all.slice(0, Math.max(0, all.length - MOST_SEEN)).map((one) => seen.delete(one)));
}

self.addEventListener("notificationclick", (event) => {
  const told = event.notification.data || {};
  const action = event.action && told.actions ? told.actions[Number(event.action)] : null;
  event.notification.close();
  event.waitUntil(action ? press(told, action) : open(told));
});

// One press is one attempt; the household judges it, and the notification says how it ended.
async function press(told, action) {
  const ended = await answered(told, action);
  const shown = { ...told, body: ended.words };
  if (!ended.again) delete shown.actions;
  return show(shown, true);
}

async function answered(told, action) {
  try {
    const answer = await fetch(told.press, {
      method: "POST",
      credentials: "omit",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ device: told.device, token: action.token }),
    });
    const said = await answer.json();
    if (answer.status === 200) return { words: said.words || "Noted.", again: false };
    return { words: said.words || "Not heard. Open to answer.", again: answer.status === 503 };
  } catch {
    return { words: "Not sent: the household was not reached. Press again.\n\n" + told.body, again: true };
  }
}

// Whatever the household was called when it wrote the link, its pages are here.
async function open(told) {
  const url = new URL(told.url || "/console/", self.location.origin);
  const page = self.location.origin + url.pathname + url.search;
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const ready = pages.find((one) => new URL(one.url).pathname.startsWith("/console/") && "navigate" in one);
  if (!ready) return self.clients.openWindow(page);
  await ready.focus();
  return ready.navigate(page);
}
