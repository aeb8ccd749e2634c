// The log of a run as it is written: read from the API's stream, shown as text and never as markup.
"use strict";

(() => {
  const box = document.getElementById("log");
  if (!box) return;
  const MOST = 5000;
  // Lines of several pods do not come in the order of their times: what is younger than this is asked for again after a cut.
  const OVERLAP_MS = 10000;
  const follow = document.querySelector("[data-log-follow]");
  const pod = document.querySelector("[data-log-pod]");
  const find = document.querySelector("[data-log-find]");
  const copy = document.querySelector("[data-log-copy]");
  const live = box.dataset.live === "1";
  let reading = null;
  let lines = 0;
  let last = null;
  // How often each line of the overlap was shown, and how often it is still to be left out when it comes again.
  let shown = new Map();
  let repeated = new Map();

  const keyOf = (row) => `${row.time} ${row.pod} ${row.text}`;
  const overlapOf = (time) => new Date(Date.parse(time) - OVERLAP_MS).toISOString();

  function isRepeated(row) {
    const left = repeated.get(keyOf(row)) || 0;
    if (left) repeated.set(keyOf(row), left - 1);
    return left > 0;
  }

  function remember(row) {
    const key = keyOf(row);
    shown.set(key, { time: row.time, count: (shown.get(key)?.count || 0) + 1 });
    if (!last || row.time > last) last = row.time;
  }

  function forget() {
    const oldest = overlapOf(last);
    for (const [key, { time }] of shown) if (time < oldest) shown.delete(key);
  }

  function filter(line) {
    line.hidden = !line.textContent.toLowerCase().includes(find.value.toLowerCase());
  }

  function say(text, kind) {
    const line = document.createElement("div");
    line.className = kind;
    line.textContent = text;
    box.append(line);
    if (follow.checked) box.scrollTop = box.scrollHeight;
    return line;
  }

  function add(rows) {
    if (rows.some((row) => row.text !== undefined)) box.querySelector(".first")?.remove();
    const part = document.createDocumentFragment();
    for (const row of rows) {
      if (row.text === undefined || isRepeated(row)) continue;
      remember(row);
      const line = document.createElement("div");
      const time = document.createElement("time");
      time.textContent = row.time.slice(11, 19);
      time.title = row.time;
      line.append(time);
      if (box.dataset.several === "1") {
        const name = document.createElement("b");
        name.textContent = podName(row.pod, box.dataset.run, box.dataset.attempt);
        line.append(name);
      }
      // Colours and cursor movements of terminals are left out.
      line.append(row.text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "").replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "�"));
      if (find?.value) filter(line);
      part.append(line);
      lines += 1;
    }
    box.append(part);
    if (last) forget();
    if (lines > MOST) {
      if (!box.querySelector(".older")) box.prepend(say(box.dataset.more, "note older"));
      while (lines > MOST) {
        box.children[1].remove();
        lines -= 1;
      }
    }
    if (follow.checked) box.scrollTop = box.scrollHeight;
  }

  async function read(signal) {
    const query = new URLSearchParams({ format: "json", tail: last ? "10000" : "1000" });
    if (live) query.set("follow", "true");
    if (last) query.set("since", overlapOf(last));
    repeated = new Map([...shown].map(([key, { count }]) => [key, count]));
    if (pod && pod.value) query.set("pod", pod.value);
    const answer = await fetch(`/api/v1/runs/${box.dataset.run}/logs?${query}`, { signal });
    if (answer.status === 401) location.reload();
    if (!answer.ok) throw new Error(String(answer.status));
    const stream = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await stream.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      const rows = parts.filter(Boolean).map((text) => JSON.parse(text));
      add(rows);
      const end = rows.find((row) => row.end !== undefined);
      // Any other end is the API's own, not the run's: it is asked again.
      if (end && end.end !== "end") throw new Error(end.end);
      if (end) return true;
    }
    return !live;
  }

  async function keep() {
    reading?.abort();
    const mine = (reading = new AbortController());
    box.replaceChildren();
    lines = 0;
    last = null;
    shown = new Map();
    if (live) say(box.dataset.empty, "note first");
    let wait = 1000;
    for (;;) {
      try {
        const ended = await read(mine.signal);
        if (ended) break;
        wait = 1000;
      } catch (error) {
        if (mine.signal.aborted) return;
        if (!box.querySelector(".failed")) say(box.dataset.fail, "note failed");
        wait = Math.min(wait * 2, 30000);
      }
      if (!live) return;
      await new Promise((done) => setTimeout(done, wait));
      box.querySelector(".failed")?.remove();
    }
    box.querySelector(".first")?.remove();
    say(lines ? box.dataset.end : box.dataset.empty, "note");
  }

  const written = () => [...box.children].filter((line) => !line.classList.contains("note"));
  find?.addEventListener("input", () => written().forEach(filter));
  copy?.addEventListener("click", async () => {
    const texts = written().filter((line) => !line.hidden).map((line) => line.lastChild.textContent);
    await navigator.clipboard.writeText(texts.join("\n"));
    const label = copy.textContent;
    copy.textContent = copy.dataset.copied;
    setTimeout(() => (copy.textContent = label), 2000);
  });
  pod?.addEventListener("change", keep);
  keep();
})();
