"use strict";
// Passkeys: asks the server what to prove, lets the browser prove it, and sends the proof back as a form.
(() => {
  const root = "/console";

  const bytes = (text) => {
    const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(plain, (one) => one.charCodeAt(0));
  };

  const text = (buffer) => {
    const plain = Array.from(new Uint8Array(buffer), (one) => String.fromCharCode(one)).join("");
    return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  };

  const post = async (path, fields) => {
    const answer = await fetch(root + path, { method: "POST", body: new URLSearchParams(fields) });
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(said.error || "That did not work. Try again.");
    return said;
  };

  const asked = (options) => {
    const named = (one) => ({ ...one, id: bytes(one.id) });
    const read = { ...options, challenge: bytes(options.challenge) };
    if (options.user) read.user = { ...options.user, id: bytes(options.user.id) };
    if (options.excludeCredentials) read.excludeCredentials = options.excludeCredentials.map(named);
    if (options.allowCredentials) read.allowCredentials = options.allowCredentials.map(named);
    return read;
  };

  const written = (credential) => {
    const response = { clientDataJSON: text(credential.response.clientDataJSON) };
    for (const part of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (credential.response[part]) response[part] = text(credential.response[part]);
    }
    if (credential.response.getTransports) response.transports = credential.response.getTransports();
    const { id, type } = credential;
    return JSON.stringify({ id, rawId: text(credential.rawId), type, response, clientExtensionResults: {} });
  };

  const register = async (box) => {
    const form_token = box.querySelector("[name=form_token]").value;
    const options = await post("/account/passkeys/options", { form_token });
    const credential = written(await navigator.credentials.create({ publicKey: asked(options) }));
    return post("/account/passkeys", { form_token, credential, label: box.querySelector("[name=label]").value });
  };

  const signIn = async (box) => {
    const options = await post("/login/passkey/options", {});
    const credential = written(await navigator.credentials.get({ publicKey: asked(options) }));
    return post("/login/passkey", { credential, next: box.dataset.next });
  };

  const said = (error) =>
    ({ NotAllowedError: "Nothing was shown, or it took too long.", InvalidStateError: "This device has a passkey here already." })[
      error.name
    ] || error.message;

  const act = async (box, work) => {
    const complaint = box.querySelector(".complaint");
    complaint.hidden = true;
    try {
      location.assign((await work(box)).next);
    } catch (error) {
      complaint.textContent = said(error);
      complaint.hidden = false;
    }
  };

  if (!window.PublicKeyCredential) return;
  for (const box of document.querySelectorAll("[data-passkey]")) {
    box.hidden = false;
    if (box.dataset.passkey === "register") {
      box.addEventListener("submit", (event) => { event.preventDefault(); act(box, register); });
    } else {
      box.querySelector("button").addEventListener("click", () => act(box, signIn));
    }
  }
})();
