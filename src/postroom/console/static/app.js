// Makes the console an app: registers its service worker, and switches notifications on and off on the page Devices.
(function () {
  "use strict";

  var worker = "serviceWorker" in navigator
    ? navigator.serviceWorker.register("/console/service-worker.js", { scope: "/console/" })
    : null;
  if (worker) worker.catch(function () {}); // without it everything works but what needs it

  var here = document.getElementById("this-device");
  if (!here) return;

  function say(what) {
    here.querySelectorAll("[data-says]").forEach(function (one) {
      one.hidden = one.getAttribute("data-says") !== what;
    });
  }

  function bytes(text) {
    var plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return Uint8Array.from(plain, function (one) { return one.charCodeAt(0); });
  }

  function written(buffer) {
    var plain = String.fromCharCode.apply(null, new Uint8Array(buffer));
    return btoa(plain).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  }

  function mark(subscription) {
    return crypto.subtle.digest("SHA-256", new TextEncoder().encode(subscription.endpoint)).then(function (digest) {
      return Array.from(new Uint8Array(digest), function (one) { return one.toString(16).padStart(2, "0"); }).join("");
    });
  }

  function guessed() {
    var agent = navigator.userAgent;
    var system = /iPhone|iPad|Android|Windows|Mac OS|Linux/.exec(agent);
    var browser = /Edg|Firefox|Chrome|Safari/.exec(agent);
    var names = { Edg: "Edge", "Mac OS": "Mac" };
    return [browser, system].filter(Boolean).map(function (one) { return names[one[0]] || one[0]; }).join(" on ");
  }

  // A browser remembers with which key it agreed; that of an earlier household is no use.
  function agreed(manager) {
    var options = { userVisibleOnly: true, applicationServerKey: bytes(here.getAttribute("data-key")) };
    return manager.getSubscription().then(function (old) {
      return old ? old.unsubscribe() : null;
    }).then(function () {
      return manager.subscribe(options);
    });
  }

  function switchOn(form) {
    return Notification.requestPermission().then(function (said) {
      if (said !== "granted") return say(said === "denied" ? "denied" : "");
      return navigator.serviceWorker.ready.then(function (ready) {
        return agreed(ready.pushManager);
      }).then(function (made) {
        form.elements.endpoint.value = made.endpoint;
        form.elements.p256dh.value = written(made.getKey("p256dh"));
        form.elements.auth.value = written(made.getKey("auth"));
        form.submit();
      });
    }).catch(function () { say("failed"); });
  }

  function found(subscription, form) {
    if (!subscription) { form.hidden = false; return null; }
    return mark(subscription).then(function (own) {
      var row = document.querySelector('[data-mark="' + own + '"]');
      form.hidden = Boolean(row);
      if (!row) return;
      say("on");
      row.querySelector("[data-is-here]").hidden = false;
      row.querySelector("[data-switch-off]").addEventListener("submit", function (event) {
        event.preventDefault();
        subscription.unsubscribe().catch(function () {}).then(function () { event.target.submit(); });
      });
    });
  }

  var form = here.querySelector("[data-switch-on]");
  if (!worker || !("PushManager" in window) || !("Notification" in window)) return say("unsupported");
  if (Notification.permission === "denied") return say("denied");
  form.elements.name.value = guessed();
  form.addEventListener("submit", function (event) {
    event.preventDefault();
    switchOn(form);
  });
  worker.then(function () { return navigator.serviceWorker.ready; }).then(function (ready) {
    return ready.pushManager.getSubscription();
  }).then(function (subscription) {
    return found(subscription, form);
  }).catch(function () { say("unsupported"); });
})();
