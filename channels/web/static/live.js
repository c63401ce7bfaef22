// What is said elsewhere appears by itself: messages, marks and the line of what is being done.

import { follow } from "./scroll.js";
import { localise } from "./times.js";

const WAIT_MS_MIN = 1_000;
const WAIT_MS_MAX = 15_000;

export function begin(talk) {
  if (!talk) return;
  const log = talk.querySelector("[data-log]");
  const title = countNews();
  const scroll = follow(talk);
  const status = showStatus(talk);
  listen(talk, {
    // A stream tells all that is true at this moment, so what was true before it is dropped.
    open() {
      for (const mark of log.querySelectorAll(":scope > article > .mark")) mark.hidden = true;
      status("", true);
    },
    message({ id, html }) {
      const isNew = put(log, id, html);
      talk.querySelector("[data-empty]")?.remove();
      scroll.changed(isNew);
      if (isNew) title.add();
    },
    status({ line }) {
      status(line);
      scroll.changed(false);
    },
    mark({ id, is_on: isOn }) {
      const mark = document.getElementById(`m-${id}`)?.querySelector(":scope > .mark");
      if (mark) mark.hidden = !isOn;
    },
  });
}

// The browser connects again by itself after a broken connection, and says which revision it saw
// last; after an answer that is no stream it does not, so then we do.
function listen(talk, takers) {
  const away = talk.querySelector("[data-away]");
  let revision = talk.dataset.revision;
  let waitMs = WAIT_MS_MIN;
  let source;

  const { open, ...tellers } = takers;

  const connect = () => {
    source = new EventSource(`${talk.dataset.url}/events?after=${encodeURIComponent(revision)}`);
    source.addEventListener("open", () => {
      away.textContent = "";
      waitMs = WAIT_MS_MIN;
      open();
    });
    source.addEventListener("error", () => {
      away.textContent = "The connection is lost; trying again.";
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(connect, waitMs);
      waitMs = Math.min(waitMs * 2, WAIT_MS_MAX);
    });
    for (const [name, take] of Object.entries(tellers)) {
      source.addEventListener(name, (event) => {
        if (event.lastEventId) revision = event.lastEventId;
        take(JSON.parse(event.data));
      });
    }
  };
  connect();
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
}

function put(log, id, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  localise(template.content);
  const article = template.content.querySelector("article");
  const present = document.getElementById(`m-${id}`);
  if (present) {
    const hadFocus = present.contains(document.activeElement);
    keepOpen(present, article);
    present.replaceWith(article);
    if (hadFocus) {
      article.tabIndex = -1;
      article.focus({ preventScroll: true });
    }
    return false;
  }
  // The sender's pages count from below: what is older than a shown message stands before it.
  const later = [...log.children].find((other) => other.dataset.id > id);
  log.insertBefore(article, later || null);
  return true;
}

// Words that somebody is writing into a card survive its being drawn again.
function keepOpen(present, article) {
  for (const form of present.querySelectorAll("details[open] form")) {
    const nonce = form.elements.nonce.value;
    const again = [...article.querySelectorAll("details form")].find((f) => f.elements.nonce.value === nonce);
    if (!again) continue;
    again.closest("details").open = true;
    again.elements.words.value = form.elements.words.value;
  }
}

function showStatus(talk) {
  const working = talk.querySelector("[data-working]");
  const line = talk.querySelector("[data-status]");
  const told = talk.querySelector("[data-told]");
  return (words, isQuiet = false) => {
    // Seconds change all the time: a screen reader hears only that work began and that it ended.
    if (!isQuiet && working.hidden === Boolean(words)) told.textContent = words ? "At work." : "Done.";
    if (!words && working.contains(document.activeElement)) talk.querySelector("#text").focus();
    line.textContent = words;
    working.hidden = !words;
  };
}

function countNews() {
  const title = document.title;
  let unseen = 0;
  const show = () => {
    document.title = unseen ? `(${unseen}) ${title}` : title;
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    unseen = 0;
    show();
  });
  return {
    add() {
      if (!document.hidden) return;
      unseen += 1;
      show();
    },
  };
}
