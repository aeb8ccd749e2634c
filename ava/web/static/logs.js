// The log of a run as it is written: read from the API's stream, shown as text and never as markup.
"use strict";

(() => {
  const box = document.getElementById("log");
  if (!box) return;
  const MOST = 5000;
  const follow = document.querySelector("[data-log-follow]");
  const pod = document.querySelector("[data-log-pod]");
  const live = box.dataset.live === "1";
  let reading = null;
  let lines = 0;
  let last = null;

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
      if (row.text === undefined) continue;
      last = row.time;
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
      part.append(line);
      lines += 1;
    }
    box.append(part);
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
    const query = new URLSearchParams({ format: "json", tail: last ? "0" : "1000" });
    if (live) query.set("follow", "true");
    if (last) query.set("since", new Date(Date.parse(last) + 1).toISOString());
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

  pod?.addEventListener("change", keep);
  keep();
})();
