// The conversation follows what is new, unless its reader has gone up.

const NEAR_PX = 80;

export function follow(talk) {
  const pane = talk.querySelector("[data-scroll]");
  const line = talk.querySelector("[data-newer-line]");
  let isAtEnd = true;

  const toEnd = () => {
    isAtEnd = true;
    line.hidden = true;
    pane.scrollTop = pane.scrollHeight;
  };
  pane.addEventListener(
    "scroll",
    () => {
      isAtEnd = pane.scrollHeight - pane.scrollTop - pane.clientHeight < NEAR_PX;
      if (isAtEnd) line.hidden = true;
    },
    { passive: true },
  );
  talk.querySelector("[data-newer]").addEventListener("click", () => {
    toEnd();
    pane.focus({ preventScroll: true });
  });
  talk.addEventListener("sent", toEnd);
  // Pictures that load and a composer that grows move the end away.
  new ResizeObserver(() => isAtEnd && toEnd()).observe(pane);
  new ResizeObserver(() => isAtEnd && toEnd()).observe(talk.querySelector("[data-log]"));
  toEnd();
  return {
    changed(isNew) {
      if (isAtEnd) toEnd();
      else if (isNew) line.hidden = false;
    },
  };
}
