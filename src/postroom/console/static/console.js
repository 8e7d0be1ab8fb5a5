// Pages work without this file: it keeps spoken times fresh and saves a person some steps.
(function () {
  "use strict";

  // The same words as kernel/values/zones.py: no unit that would hide half of the time.
  var units = [[86400, "day", 3600], [3600, "hour", 60], [60, "minute", 60], [1, "second", 1]];

  function spoken(then, now) {
    var gap = (now - then) / 1000;
    var size = Math.floor(Math.abs(gap));
    if (Math.abs(gap) < 2) return "just now";
    if (gap < -3600) size = Math.ceil(-gap / 60) * 60;
    for (var place = 0; place < units.length; place++) {
      var many = Math.floor(size / units[place][0]);
      if (many > 1 || (many === 1 && size % units[place][0] < units[place][2])) {
        var text = many + " " + units[place][1] + (many === 1 ? "" : "s");
        return gap > 0 ? text + " ago" : "in " + text;
      }
    }
    return "just now";
  }

  function refresh() {
    var now = Date.now();
    document.querySelectorAll("time[datetime]").forEach(function (one) {
      var said = spoken(Date.parse(one.getAttribute("datetime")), now);
      if (one.textContent !== said) one.textContent = said;
    });
  }

  // One box that ticks all the boxes of its form.
  document.addEventListener("change", function (event) {
    if (!event.target.matches("[data-ticks]")) return;
    document.querySelectorAll(event.target.getAttribute("data-ticks")).forEach(function (box) {
      box.checked = event.target.checked;
    });
  });

  // The menu of a phone closes as people expect; without this file its own links do it.
  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape" || location.hash !== "#menu") return;
    location.hash = "closed";
    document.getElementById("more").focus();
  });

  setInterval(refresh, 1000);
})();
