// A page that is brought up to date is changed only where it differs: the keyboard stays where it is, what is open stays
// open, what is typed stays typed, nothing flickers, and nothing is touched when nothing has changed.
(function () {
  "use strict";

  // What a person did to the page is theirs, and not the server's to undo.
  function isTheirs(one, name) {
    return (one.tagName === "DETAILS" && name === "open") || name === "aria-expanded";
  }

  // What a thing is the same by: its id; of a line in a list where it leads to.
  function keyOf(one) {
    if (one.id || !/^(LI|TR)$/.test(one.nodeName)) return one.id || "";
    return Array.from(one.querySelectorAll("a[href]"), function (link) { return link.getAttribute("href"); }).join(" ");
  }

  function sameKind(one, other) {
    return one.nodeType === other.nodeType && one.nodeName === other.nodeName && keyOf(one) === keyOf(other);
  }

  function takeAttributes(one, fresh) {
    Array.from(fresh.attributes).forEach(function (attribute) {
      if (!isTheirs(one, attribute.name) && one.getAttribute(attribute.name) !== attribute.value)
        one.setAttribute(attribute.name, attribute.value);
    });
    Array.from(one.attributes).forEach(function (attribute) {
      if (!isTheirs(one, attribute.name) && !fresh.hasAttribute(attribute.name)) one.removeAttribute(attribute.name);
    });
  }

  // The words of a moment are kept fresh by console.js.
  function isSettled(one, fresh) {
    return one.tagName === "TIME" && one.getAttribute("datetime") === fresh.getAttribute("datetime");
  }

  function bring(one, fresh) {
    if (one.isEqualNode(fresh)) return;
    if (one.nodeType !== Node.ELEMENT_NODE) {
      if (one.nodeValue !== fresh.nodeValue) one.nodeValue = fresh.nodeValue;
      return;
    }
    if (one.hasAttribute("hx-preserve") && one.id === fresh.id) return;
    if (isSettled(one, fresh)) return;
    takeAttributes(one, fresh);
    bringChildren(one, fresh);
  }

  function removeGone(one, fresh) {
    var staying = new Set(Array.from(fresh.children, keyOf));
    Array.from(one.children).forEach(function (child) {
      if (keyOf(child) && !staying.has(keyOf(child))) child.remove();
    });
  }

  function fromHere(place, key) {
    while (place && keyOf(place) !== key) place = place.nextSibling;
    return place;
  }

  function bringChildren(one, fresh) {
    removeGone(one, fresh);
    var place = one.firstChild;
    Array.from(fresh.childNodes).forEach(function (wanted) {
      var key = keyOf(wanted);
      var met = key ? fromHere(place, key) : place && sameKind(place, wanted) ? place : null;
      if (!met) {
        one.insertBefore(document.importNode(wanted, true), place);
        return;
      }
      if (met === place) place = met.nextSibling;
      else one.insertBefore(met, place);
      if (met.nodeName === wanted.nodeName) bring(met, wanted);
      else met.replaceWith(document.importNode(wanted, true));
    });
    while (place) {
      var next = place.nextSibling;
      place.remove();
      place = next;
    }
  }

  // A thing in the way of the keyboard's place may have moved it.
  function keepingFocus(work) {
    var held = document.activeElement;
    work();
    if (held && held !== document.body && held.isConnected && document.activeElement !== held)
      held.focus({ preventScroll: true });
  }

  var lastSaid = 0;
  function say(words) {
    if (!words || Date.now() - lastSaid < 10000) return;
    lastSaid = Date.now();
    document.getElementById("news").textContent = words;
  }

  // A word that comes while the page was only just brought up to date is not lost: it is heard again a little later.
  var unheard = null;
  ["deliveries", "approvals", "inbox", "questions", "conversations"].forEach(function (topic) {
    document.addEventListener("sse:" + topic, function () { unheard = "sse:" + topic; }, true);
  });
  document.addEventListener("htmx:beforeRequest", function (event) {
    if (event.detail.elt.id === "live") unheard = null;
  });
  setInterval(function () {
    var live = document.getElementById("live");
    if (unheard && live) htmx.trigger(live, unheard);
  }, 500);

  document.addEventListener("htmx:beforeSwap", function (event) {
    var live = event.detail.target;
    if (live.id !== "live" || event.detail.xhr.status !== 200) return;
    var page = new DOMParser().parseFromString(event.detail.serverResponse, "text/html");
    var fresh = page.getElementById("live");
    if (!fresh) return;
    event.detail.shouldSwap = false;
    live.classList.remove("htmx-request");
    if (!live.getAttribute("class")) live.removeAttribute("class");
    var watch = new MutationObserver(function () {});
    watch.observe(live, { subtree: true, childList: true, attributes: true, characterData: true });
    keepingFocus(function () {
      bring(live, fresh);
      document.querySelectorAll("[data-live]").forEach(function (part) {
        var other = page.getElementById(part.id);
        if (other) bring(part, other);
      });
    });
    if (watch.takeRecords().length) {
      htmx.process(live);
      say(live.getAttribute("data-said"));
    }
    watch.disconnect();
  });
})();
