// Signs in by the code in the address's fragment (no proxy and no log sees that part), or a token.
const say = document.getElementById("say");
const mend = document.getElementById("mend");
const form = document.getElementById("by-token");
const token = document.getElementById("token");

async function signIn(body) {
  say.textContent = "Signing in";
  mend.textContent = "";
  form.hidden = true;
  let problem;
  try {
    const answer = await fetch("/api/v1/sessions", {
      method: "POST",
      headers: {"Content-Type": "application/json"},
      body: JSON.stringify(body),
    });
    if (answer.ok) {
      location.replace("/");
      return;
    }
    problem = await answer.json();
  } catch {
    problem = {detail: "The server does not answer.", mend: "Is it running? Then try again."};
  }
  refuse(problem.detail, problem.mend || "hearth login --link prints a new link.");
}

function refuse(text, help) {
  say.textContent = text;
  mend.textContent = help;
  form.hidden = false;
  token.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = token.value.trim();
  token.value = "";
  if (text !== "") signIn({token: text});
});

const code = location.hash.slice(1);
history.replaceState(null, "", location.pathname);  // a code is good once: no need to keep it
if (code !== "") signIn({code: decodeURIComponent(code)});
else refuse("Who are you?", "hearth login --link prints a link that signs you in.");
