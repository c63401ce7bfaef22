// Buttons of cards and the stop button, without leaving the page.

import { newKey, post, tell } from "./post.js";

export function begin(log) {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("[data-press], [data-stop]")) return;
    event.preventDefault();
    if (form.dataset.busy) return;
    form.dataset.busy = "yes";
    const fault = form.closest("article, main").querySelector("[data-fault]");
    tell(fault, "");
    const said = await post(form);
    delete form.dataset.busy;
    tell(fault, said.error || "");
    // What was refused may be pressed again as a new press; what arrived is shown by its message.
    if (!said.error || form.matches("[data-stop]")) form.elements.key.value = newKey();
  });
}
