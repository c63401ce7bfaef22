// Sends a form as the page would, and tells what came of it in a word or a sentence.

const WAIT_MS = 60_000;
const UNREACHED = "That could not be sent: the service does not answer. It is still here; try again.";

export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(18));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

export async function post(form) {
  let response;
  try {
    response = await fetch(form.action, {
      method: "POST",
      body: new FormData(form),
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(WAIT_MS),
    });
  } catch {
    return { error: UNREACHED };
  }
  const said = await response.json().catch(() => ({}));
  if (response.ok) return said;
  return { error: said.error || `That could not be sent (${response.status}). Try again.` };
}

export function tell(region, sentence) {
  if (!region) return;
  region.textContent = sentence;
  region.hidden = !sentence;
}
