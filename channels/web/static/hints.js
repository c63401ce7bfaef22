// A short list of commands while the text is only the beginning of one.

const COMMANDS = [
  ["/help", "what can be asked here"],
  ["/status", "how the work stands"],
  ["/stop", "end what runs"],
  ["/new", "forget what was said before"],
];

export function begin(form, text) {
  const list = form.querySelector("[data-hints]");
  let rows = [];
  let at = 0;

  const show = () => {
    const found = /^\/[a-z]*$/.test(text.value) ? COMMANDS.filter(([verb]) => verb.startsWith(text.value)) : [];
    const isWhole = found.length === 1 && found[0][0] === text.value;
    rows = isWhole ? [] : found;
    at = 0;
    list.replaceChildren(...rows.map(describe));
    list.hidden = rows.length === 0;
    point();
  };
  const describe = ([verb, words], number) => {
    const row = document.createElement("li");
    const name = document.createElement("b");
    row.id = `hint-${number}`;
    row.role = "option";
    name.textContent = verb;
    row.append(name, words);
    row.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      pick(number);
    });
    return row;
  };
  const point = () => {
    [...list.children].forEach((row, number) => row.setAttribute("aria-selected", String(number === at)));
    if (rows.length) text.setAttribute("aria-activedescendant", `hint-${at}`);
    else text.removeAttribute("aria-activedescendant");
  };
  const pick = (number) => {
    text.value = rows[number][0];
    show();
    text.dispatchEvent(new Event("input"));
  };
  const take = (event) => {
    if (!rows.length || event.isComposing) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) at = (at + step + rows.length) % rows.length;
    else if (event.key === "Escape") {
      rows = [];
      list.hidden = true;
    } else if (event.key === "Enter" && !event.shiftKey) pick(at);
    else return false;
    point();
    event.preventDefault();
    return true;
  };

  text.setAttribute("aria-autocomplete", "list");
  text.setAttribute("aria-controls", list.id);
  text.addEventListener("input", show);
  text.addEventListener("blur", () => {
    list.hidden = true;
  });
  return { take };
}
