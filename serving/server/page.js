"use strict";
// Everything shown comes in through textContent: model and class names are not to be trusted.
const SHOWN_CLASSES = 5;
const NUM_RATES = 60;
const sections = new Map();
let before = null;

function element(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

function toBase64(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) {
    text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  }
  return btoa(text);
}

// Inputs of the form.

function isOneValue(input) {
  return input.shape === "[?]";
}

function fileField(name, box) {
  const file = document.createElement("input");
  file.type = "file";
  file.dataset.for = name;
  const picture = document.createElement("img");
  picture.hidden = true;
  picture.alt = "";
  // What is no image stays hidden.
  picture.addEventListener("load", () => { picture.hidden = false; });
  file.addEventListener("change", () => {
    picture.hidden = true;
    URL.revokeObjectURL(picture.src);
    if (file.files.length) picture.src = URL.createObjectURL(file.files[0]);
  });
  box.append(file, picture);
}

function inputField(input, isOnly) {
  const box = document.createElement("label");
  box.append(element("span", input.name, "name"));
  box.append(element("span", `${input.dtype} ${input.shape}`, "hint"));
  const isText = input.dtype === "string";
  if (isText && input.name.endsWith("_bytes")) {
    box.append(document.createElement("br"));
    fileField(input.name, box);
    return box;
  }
  const isShort = isOneValue(input) && !isOnly;
  const field = document.createElement(isShort ? "input" : "textarea");
  field.name = input.name;
  field.placeholder = isText ? "a text" : "JSON of the whole input, such as [[1.0, 2.0]]";
  if (isOneValue(input) && !isText) field.placeholder = "a number";
  if (isShort) box.className = "short";
  box.append(field);
  if (isText && !isShort) {
    box.append(element("span", "or a file: ", "hint"));
    fileField(input.name, box);
  }
  return box;
}

function chosenSignature(section) {
  const name = section.querySelector("select[name=signature]").value;
  return section.model.signatures.find((one) => one.name === name);
}

function showInputs(section) {
  const signature = chosenSignature(section);
  const fields = signature ? signature.inputs.map((one, _, all) => inputField(one, all.length === 1)) : [];
  section.querySelector(".inputs").replaceChildren(...fields);
  section.querySelector(".second").hidden = !(signature && signature.example);
}

function fillExample(section) {
  for (const [name, text] of Object.entries(chosenSignature(section).example)) {
    const field = section.querySelector("form").elements[name];
    if (field) field.value = text;
  }
}

async function inputJson(form, input) {
  const file = form.querySelector(`input[type=file][data-for="${CSS.escape(input.name)}"]`);
  if (file && file.files.length) {
    return JSON.stringify([{b64: toBase64(await file.files[0].arrayBuffer())}]);
  }
  const field = form.elements[input.name];
  if (!field) throw new Error(`${input.name}: choose a file.`);
  if (input.dtype === "string") return JSON.stringify([field.value]);
  const text = field.value.trim();
  if (isOneValue(input) && !text.startsWith("[")) {
    // A number that is missing: what a model makes of it is its own affair.
    return `[${text || "NaN"}]`;
  }
  // Passed on as it was typed, since NaN and large integers do not survive JSON.parse.
  if (!text) throw new Error(`${input.name}: a value is missing.`);
  return text;
}

// The answer.

function requestPath(section) {
  const choice = section.querySelector("select[name=version]").value;
  return `/v1/models/${encodeURIComponent(section.model.name)}${choice}:predict`;
}

function showClasses(section, text) {
  const box = section.querySelector(".classes");
  box.hidden = true;
  let outputs;
  try { outputs = JSON.parse(text).outputs; } catch { return; }
  const scores = outputs && outputs.probabilities && outputs.probabilities[0];
  const names = section.model.class_names;
  if (!Array.isArray(scores) || scores.length !== names.length) return;
  const best = scores.map((score, index) => [score, names[index]]).sort((a, b) => b[0] - a[0]);
  const cells = best.slice(0, SHOWN_CLASSES).flatMap(([score, name]) => {
    const bar = element("span", "", "bar");
    bar.style.width = `${100 * score}%`;
    return [element("span", name), bar, element("span", `${(100 * score).toFixed(1)} %`)];
  });
  box.replaceChildren(...cells);
  box.hidden = false;
}

async function send(event, section) {
  event.preventDefault();
  const answer = section.querySelector(".answer");
  section.querySelector(".classes").hidden = true;
  answer.hidden = false;
  answer.className = "answer";
  answer.textContent = "Waiting ...";
  try {
    const signature = chosenSignature(section);
    const parts = await Promise.all(signature.inputs.map(async (input) =>
      `${JSON.stringify(input.name)}: ${await inputJson(event.target, input)}`));
    const body = `{"signature_name": ${JSON.stringify(signature.name)}, "inputs": {${parts.join(", ")}}}`;
    const response = await fetch(requestPath(section), {method: "POST", body});
    const text = await response.text();
    if (response.ok) showClasses(section, text);
    else answer.classList.add("error");
    answer.textContent = text;
  } catch (error) {
    answer.classList.add("error");
    answer.textContent = error.message;
  }
}

// What the server says of itself, each second.

function makeSection(model) {
  const section = document.getElementById("model").content.firstElementChild.cloneNode(true);
  section.querySelector("h2").textContent = model.name;
  section.rates = [];
  section.querySelector("form").addEventListener("submit", (event) => send(event, section));
  section.querySelector("select[name=signature]").addEventListener("change", () => showInputs(section));
  section.querySelector(".second").addEventListener("click", () => fillExample(section));
  return section;
}

function fillSelect(select, choices) {
  const described = JSON.stringify(choices);
  if (select.dataset.choices === described) return false;
  select.dataset.choices = described;
  const chosen = select.value;
  select.replaceChildren(...choices.map(([text, value]) => {
    const option = element("option", text);
    option.value = value;
    return option;
  }));
  if (choices.some(([, value]) => value === chosen)) select.value = chosen;
  return true;
}

function versionChoices(model) {
  const available = model.versions.filter((version) => version.state === "AVAILABLE");
  return [["latest", ""]].concat(
    available.map(({number}) => [`version ${number}`, `/versions/${number}`]),
    available.flatMap(({labels}) => labels.map((label) => [label, `/labels/${encodeURIComponent(label)}`])));
}

function versionRow(version) {
  const row = document.createElement("tr");
  const labels = document.createElement("td");
  labels.append(...version.labels.map((label) => element("span", label, "label")));
  row.append(element("td", version.number), element("td", version.state, version.state), labels,
    element("td", version.error));
  return row;
}

function showNumbers(section, model, seconds, old) {
  const count = old ? model.num_requests - old.num_requests : 0;
  const micros = old ? model.total_micros - old.total_micros : 0;
  const rate = count / seconds || 0;
  section.querySelector(".rate").textContent = rate.toFixed(1);
  if (count) section.querySelector(".latency").textContent = (micros / count / 1000).toFixed(2);
  section.querySelector(".total").textContent = model.num_requests;
  section.rates = [...section.rates, rate].slice(-NUM_RATES);
  const most = Math.max(...section.rates, 1);
  const points = section.rates.map((one, index) =>
    `${NUM_RATES - section.rates.length + index},${(19 - 18 * one / most).toFixed(2)}`);
  section.querySelector("polyline").setAttribute("points", points.join(" "));
}

function update(section, model, seconds, old) {
  section.model = model;
  const names = model.signatures.map((one) => [one.name, one.name]);
  if (fillSelect(section.querySelector("select[name=signature]"), names)) showInputs(section);
  fillSelect(section.querySelector("select[name=version]"), versionChoices(model));
  section.querySelector("form").hidden = !names.length;
  section.querySelector("tbody").replaceChildren(...model.versions.map(versionRow));
  showNumbers(section, model, seconds, old);
}

async function refresh() {
  const now = performance.now();
  const state = await (await fetch("/page/state")).json();
  const seconds = before ? (now - before.now) / 1000 : 1;
  for (const model of state.models) {
    if (!sections.has(model.name)) {
      sections.set(model.name, makeSection(model));
      document.getElementById("models").append(sections.get(model.name));
    }
    const old = before && before.models.find((one) => one.name === model.name);
    update(sections.get(model.name), model, seconds, old);
  }
  for (const [name, section] of sections) {
    if (state.models.some((one) => one.name === name)) continue;
    section.remove();
    sections.delete(name);
  }
  before = {now, models: state.models};
}

async function loop() {
  const connection = document.getElementById("connection");
  try {
    await refresh();
    connection.textContent = sections.size ? "" : "No model is configured.";
  } catch {
    connection.textContent = "The server does not answer; trying again.";
  }
  setTimeout(loop, 1000);
}
loop();
