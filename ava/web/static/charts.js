// Charts of what a run uses: figures from the site's Prometheus by way of AVA, drawn by uPlot.
"use strict";

(() => {
  const section = document.getElementById("charts");
  if (!section) return;
  const box = section.querySelector(".charts");
  const plots = [];

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // A pod is called RUN-ATTEMPT-ROLE-INDEX; the page calls it by its role and index.
  const named = (line) => podName(line, section.dataset.run, section.dataset.attempt);

  // UTC, as all times of the pages and of the command line; the day stands below where it begins. A label at the very left is
  // left out: it would touch the one of the other axis.
  const utc = (mark) => new Date(mark * 1000).toISOString();
  function times(u, marks, axis, space, step) {
    const days = marks.map((mark) => utc(mark).slice(0, 10));
    const shown = step >= 86400 ? days : marks.map((mark, i) => utc(mark).slice(11, 16) + (days[i] === days[i - 1] ? "" : `\n${days[i]}`));
    return shown.map((label, i) => (u.valToPos(marks[i], "x") < (days[i] === days[i - 1] ? 16 : 34) ? "" : label));
  }

  function note(text) {
    const line = document.createElement("p");
    line.className = "muted";
    line.textContent = text;
    box.replaceChildren(line);
    plots.length = 0;
  }

  function draw(charts) {
    if (!charts.length) return note(section.dataset.none);
    if (plots.length === charts.length && plots.every((p, i) => p.unit === charts[i].unit && p.series.length === charts[i].series.length + 1)) {
      charts.forEach((chart, i) => plots[i].setData([chart.times, ...chart.series.map((s) => s.values)]));
      return;
    }
    box.replaceChildren();
    plots.length = 0;
    const figures = charts.map((chart) => {
      const figure = document.createElement("figure");
      const caption = document.createElement("figcaption");
      caption.textContent = chart.title;
      figure.append(caption);
      return figure;
    });
    // How wide one is, is known when all are there.
    box.append(...figures);
    for (const [number, chart] of charts.entries()) {
      const figure = figures[number];
      const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
      const shades = [1, 2, 3, 4, 5, 6].map((n) => colour(`--line-${n}`));
      plots.push(
        new uPlot(
          {
            width: Math.max(240, figure.clientWidth - 22),
            height: 180,
            padding: [8, 36, 0, 0],
            tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), "Etc/UTC"),
            legend: { live: false },
            cursor: { points: { show: false } },
            scales: { y: { range: (u, low, high) => [0, chart.most || Math.max(high * 1.1, chart.least)] } },
            axes: [{ ...axis, values: times, gap: 10 }, { ...axis, size: 60, values: (u, marks) => marks.map((v) => `${v}${chart.unit}`) }],
            series: [{}, ...chart.series.map((s, i) => ({ label: named(s.name), stroke: shades[i % shades.length], width: 1.6 }))],
          },
          [chart.times, ...chart.series.map((s) => s.values)],
          figure,
        ),
      );
      plots[number].unit = chart.unit;
    }
  }

  async function ask() {
    try {
      const answer = await fetch(`/runs/${section.dataset.run}/charts`, { headers: { accept: "application/json" } });
      if (!answer.ok) throw new Error(String(answer.status));
      const data = await answer.json();
      draw(data.charts);
      if (data.live) setTimeout(ask, 15000);
    } catch (error) {
      if (!plots.length) note(section.dataset.fail);
      setTimeout(ask, 30000);
    }
  }
  ask();
})();
