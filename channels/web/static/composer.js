// Writing: keys, files that are chosen, pasted or dropped, and sending without a reload.

import { begin as beginHints } from "./hints.js";
import { newKey, post, tell } from "./post.js";

export function begin(form) {
  const text = form.querySelector("textarea");
  const input = form.querySelector("[data-files]");
  const files = beginFiles(form, input);
  const hints = beginHints(form, text);
  const fit = () => {
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight}px`;
  };
  form.querySelector("[data-keys]").hidden = false;
  text.addEventListener("input", fit);
  text.addEventListener("keydown", (event) => {
    const isSend = event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229;
    if (hints.take(event) || !isSend) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form, text, files, fit);
  });
  if (matchMedia("(pointer: fine)").matches) text.focus({ preventScroll: true });
  fit();
}

async function send(form, text, files, fit) {
  const fault = form.querySelector("[data-fault]");
  if (!text.value.trim() && !files.count()) {
    text.focus();
    return;
  }
  if (form.dataset.busy) return;
  form.dataset.busy = "yes";
  tell(fault, "");
  const sent = text.value;
  const button = form.querySelector("button[type=submit]");
  button.disabled = true;
  const said = await post(form);
  button.disabled = false;
  delete form.dataset.busy;
  if (said.error) {
    // The same key again: should the first one have arrived, it is still one message.
    tell(fault, said.error);
    return;
  }
  form.elements.key.value = newKey();
  if (text.value === sent) text.value = "";
  files.clear();
  fit();
  form.dispatchEvent(new CustomEvent("sent", { bubbles: true }));
  if (form.hasAttribute("data-begins") && said.url) location.assign(said.url);
}

function beginFiles(form, input) {
  const list = form.querySelector("[data-chosen]");
  const fault = form.querySelector("[data-fault]");
  const most = Number(input.dataset.filesMax);
  let chosen = [];

  const keep = (files) => {
    tell(fault, files.length > most ? `At most ${most} files go with one message.` : "");
    chosen = files.slice(0, most);
    const transfer = new DataTransfer();
    for (const file of chosen) transfer.items.add(file);
    input.files = transfer.files;
    list.replaceChildren(...chosen.map(describe));
    list.hidden = chosen.length === 0;
  };
  const describe = (file, number) => {
    const row = document.createElement("li");
    const name = document.createElement("bdi");
    const remove = document.createElement("button");
    name.textContent = file.name;
    remove.type = "button";
    remove.textContent = "✕";
    remove.setAttribute("aria-label", `Remove ${file.name}`);
    remove.addEventListener("click", () => {
      keep(chosen.filter((_, other) => other !== number));
      (list.querySelector("button") || input).focus();
    });
    row.append(name, remove);
    return row;
  };
  const add = (files) => keep([...chosen, ...files]);

  input.addEventListener("change", () => add([...input.files]));
  form.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    add([...event.clipboardData.files]);
  });
  const area = form.closest("main") || form;
  area.addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    form.classList.add("over");
  });
  area.addEventListener("dragleave", (event) => {
    if (!area.contains(event.relatedTarget)) form.classList.remove("over");
  });
  area.addEventListener("drop", (event) => {
    form.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    add([...event.dataTransfer.files]);
  });
  return { count: () => chosen.length, clear: () => keep([]) };
}
