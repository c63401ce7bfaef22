// Begins what the page at hand needs; every form works without any of it.

import { begin as beginComposer } from "./composer.js";
import { begin as beginLive } from "./live.js";
import { begin as beginPresses } from "./press.js";
import { localise } from "./times.js";

document.documentElement.classList.add("scripted");
localise(document);
for (const form of document.querySelectorAll("[data-composer]")) beginComposer(form);
beginPresses(document.querySelector("[data-log]"));
beginLive(document.querySelector("[data-talk]"));
