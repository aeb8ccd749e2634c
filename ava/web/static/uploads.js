// Files sent into a data set by tus, one after another: what was cut off resumes where it stopped, also after a reload, when the
// same file is chosen again (a browser gives no page a file by itself).
"use strict";

(() => {
  const files = window.avaFiles;
  if (!files || !files.section.querySelector("[data-send]")) return;
  const { section, say, errorText, ask, folder, plain, make, size, here } = files;
  const PIECE = 32 * 2 ** 20;
  const WAITS = [1000, 3000, 5000, 10000, 20000, 30000];
  const list = section.querySelector(".uploads");
  const known = tus.defaultOptions.urlStorage;
  const waiting = [];
  let sending = null;

  function mark(path, file) {
    return `ava ${section.dataset.set} ${path} ${file.size} ${file.lastModified}`;
  }

  async function forget(name) {
    for (const one of await known.findUploadsByFingerprint(name)) await known.removeUpload(one.urlStorageKey);
  }

  function button(text, act, kind = "small") {
    const made = make("button", text, { type: "button", className: kind });
    made.addEventListener("click", act);
    return made;
  }

  function line(path) {
    const item = make("li");
    const bar = make("progress", undefined, { max: 1, value: 0 });
    bar.setAttribute("aria-label", path);
    const state = make("span", say.waiting, { className: "state muted" });
    const act = make("span", undefined, { className: "act" });
    item.append(make("b", path), bar, state, act);
    list.append(item);
    return { item, bar, state, act };
  }

  function tell(one, text, kind, ...buttons) {
    one.row.state.textContent = text;
    one.row.state.className = `state ${kind}`;
    one.row.act.replaceChildren(...buttons);
  }

  function progress(one, done) {
    one.row.bar.value = one.file.size ? done / one.file.size : 1;
    one.row.state.textContent = say.progress.replace("%(done)s", size(done)).replace("%(whole)s", size(one.file.size));
  }

  function failed(one, error) {
    sending = null;
    const response = error.originalResponse;
    const status = response ? response.getStatus() : error.status || 0;
    const text = response ? errorText(response.getBody(), status) : error.status ? error.message : say.cut;
    const there = status === 409 && (response ? response.getBody() : error.body || "").includes('"file-there"');
    const again = there
      ? button(say.replace, () => start(Object.assign(one, { replace: true })))
      : button(say.again, () => start(one));
    tell(one, text, "error", again, button(say.give_up, () => drop(one)));
    next();
  }

  async function done(one) {
    // A file of which all has come is in its place only when the last part was answered so.
    if (!one.placed) {
      try {
        const headers = { "content-type": "application/offset+octet-stream", "upload-offset": String(one.file.size) };
        if (one.replace) headers["upload-replace"] = "1";
        await ask("PATCH", one.upload.url, { ...headers, "tus-resumable": "1.0.0" });
      } catch (error) {
        return failed(one, error);
      }
    }
    await forget(one.mark);
    sending = null;
    one.row.bar.value = 1;
    tell(one, say.done.replace("%(whole)s", size(one.file.size)), "good");
    section.dispatchEvent(new Event("changed"));
    next();
  }

  async function drop(one) {
    if (sending === one) sending = null;
    one.row.item.remove();
    const at = waiting.indexOf(one);
    if (at >= 0) waiting.splice(at, 1);
    try {
      if (one.upload) await one.upload.abort();
      if (one.upload && one.upload.url) await ask("DELETE", one.upload.url, { "tus-resumable": "1.0.0" });
    } catch {
      // What is left of it the platform removes by itself.
    }
    await forget(one.mark);
    next();
  }

  function start(one) {
    tell(one, say.waiting, "muted", button(say.give_up, () => drop(one)));
    waiting.push(one);
    next();
  }

  async function next() {
    if (sending || !waiting.length) return;
    const one = (sending = waiting.shift());
    const [before] = await known.findUploadsByFingerprint(one.mark);
    // Where it is known already it is asked for there alone: a storage that is away for a moment begins nothing again.
    const address = (before && before.uploadUrl) || (one.upload && one.upload.url) || null;
    const retry = (error) => {
      const status = error.originalResponse ? error.originalResponse.getStatus() : 0;
      // Another window may send the same file: then what comes next is asked for again.
      const other = status === 409 && error.originalResponse.getBody().includes('"offset-other"');
      return other || status === 0 || status === 423 || status === 429 || status >= 500;
    };
    one.placed = false;
    one.upload = new tus.Upload(one.file, {
      endpoint: address ? null : `${here}/uploads`,
      uploadUrl: address,
      chunkSize: PIECE,
      retryDelays: WAITS,
      headers: { "x-csrf-token": section.dataset.csrf },
      metadata: { filename: one.target, replace: one.replace ? "1" : "0" },
      fingerprint: async () => one.mark,
      onBeforeRequest(request) {
        if (one.replace) request.setHeader("Upload-Replace", "1");
      },
      onAfterResponse(request, response) {
        const whole = Number(response.getHeader("Upload-Offset")) === one.file.size;
        if (request.getMethod() === "PATCH" && response.getStatus() === 204 && whole) one.placed = true;
      },
      onUploadUrlAvailable() {
        one.upload.options.endpoint = null;
      },
      onShouldRetry(error) {
        const may = retry(error) && sending === one;
        if (may) one.row.state.textContent = say.cut;
        return may;
      },
      onProgress: (sent) => progress(one, sent),
      onSuccess: () => done(one),
      async onError(error) {
        const status = error.originalResponse ? error.originalResponse.getStatus() : 0;
        if (address && status === 404) {
          // Nothing of it is kept any more: it begins again.
          await forget(one.mark);
          one.upload = null;
          sending = null;
          return start(one);
        }
        failed(one, error);
      },
    });
    if (before) one.upload.resumeFromPreviousUpload(before);
    one.upload.start();
  }

  function take(chosen) {
    for (const file of chosen) {
      const names = (file.webkitRelativePath || file.name).toWellFormed().split("/");
      const below = folder().split("/").filter(Boolean);
      const path = [...below.map(plain), ...names].join("/");
      // The interface takes a path as it says one, percent-encoded.
      const target = [...below, ...names.map(encodeURIComponent)].join("/");
      for (const left of list.querySelectorAll("[data-left]")) if (left.dataset.left === mark(path, file)) left.remove();
      start({ file, target, mark: mark(path, file), row: line(path), replace: false });
    }
  }

  for (const input of section.querySelectorAll("[data-send]"))
    input.addEventListener("change", () => {
      take([...input.files]);
      input.value = "";
    });

  section.addEventListener("dragover", (event) => event.preventDefault());
  section.addEventListener("drop", (event) => {
    event.preventDefault();
    take([...event.dataTransfer.items].filter((i) => i.webkitGetAsEntry()?.isFile).map((i) => i.getAsFile()));
  });

  window.addEventListener("beforeunload", (event) => {
    if (sending) event.preventDefault();
  });

  // What an earlier visit has begun and not ended.
  async function left() {
    const begin = `tus::ava ${section.dataset.set} `;
    const found = (await known.findAllUploads()).filter((one) => one.urlStorageKey.startsWith(begin));
    for (const one of found.slice(0, 20)) {
      let answer;
      try {
        answer = await ask("HEAD", one.uploadUrl, { "tus-resumable": "1.0.0" });
      } catch (error) {
        if (error.status === 404) await known.removeUpload(one.urlStorageKey);
        continue;
      }
      const name = one.urlStorageKey.slice("tus::".length).replace(/::\d+$/, "");
      const path = name.slice(begin.length - "tus::".length).replace(/ \d+ \d+$/, "");
      const [come, whole] = ["upload-offset", "upload-length"].map((head) => Number(answer.headers.get(head)));
      const row = line(path);
      row.item.dataset.left = name;
      row.bar.value = whole ? come / whole : 0;
      row.state.textContent = say.cut_off.replace("%(done)s", size(come)).replace("%(whole)s", size(whole));
      row.act.append(
        button(say.give_up, async () => {
          row.item.remove();
          await known.removeUpload(one.urlStorageKey);
          await ask("DELETE", one.uploadUrl, { "tus-resumable": "1.0.0" }).catch(() => {});
        }),
      );
    }
  }
  left();
})();
