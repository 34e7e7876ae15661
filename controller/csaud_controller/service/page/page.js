// The fabric as a picture: drawn once, then only attributes change. Everything is asked for with the token.
const SVG = "http://www.w3.org/2000/svg";
const MODES = ["ecmp", "entropy", "random", "round-robin", "weighted", "least-queue", "host", "flowlet"];
const SIGNALS = ["trim", "bounce", "both", "drop"];
const RETRY_MS = 2000;
const at = (id) => document.getElementById(id);
const state = { token: sessionStorage.getItem("token") || "", role: "", topology: null, drawn: new Map(), chosen: null, last: null, shape: "", past: "" };

async function ask(path, options = {}) {
  const headers = { ...(options.headers || {}), ...(state.token ? { Authorization: `Bearer ${state.token}` } : {}) };
  const answer = await fetch(path, { ...options, headers });
  if (!answer.ok) {
    const text = await answer.text();
    let said = text;
    try { said = JSON.parse(text).error || text; } catch { /* not JSON: shown as it is */ }
    throw Object.assign(new Error(said || answer.statusText), { status: answer.status });
  }
  return answer;
}

const trouble = (text) => { at("trouble").hidden = !text; at("trouble").textContent = text; };
const made = (name, attributes, parent) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
};

const LETTER = 6.2, MOST_LETTERS = 18, ROW = 150;
const brief = (name) => name.length <= MOST_LETTERS ? name : `${name.slice(0, 8)}…${name.slice(-9)}`;
const letters = (nodes) => Math.max(...nodes.map((node) => brief(node.name).length));

// Each tier a row, as wide as the names in the widest; where hosts are many, theirs stand upright.
function places(nodes) {
  const tiers = [0, 1, 2, 3].map((tier) => nodes.filter((node) => node.tier === tier)).filter((tier) => tier.length);
  const isHosts = (tier) => tier[0].kind === "host";
  const box = (tier) => Math.max(28, letters(tier) * LETTER + 8);
  const switches = Math.max(640, ...tiers.filter((tier) => !isHosts(tier)).map((tier) => tier.length * (box(tier) + 6)));
  const hosts = tiers.find(isHosts) || [];
  const upright = hosts.length > 0 && hosts.length * Math.max(16, letters(hosts) * LETTER + 6) > switches;
  const width = upright ? Math.max(switches, 10 * hosts.length) : switches;
  const found = new Map();
  tiers.forEach((tier, row) => tier.forEach((node, index) => found.set(node.name, {
    x: (index + 0.5) * width / tier.length, y: 20 + row * ROW, box: isHosts(tier) ? 0 : box(tier),
    r: isHosts(tier) ? Math.min(7, 0.45 * width / tier.length) : 0,
  })));
  return { found, upright, width, height: 50 + ROW * (tiers.length - 1) + (upright ? letters(hosts) * LETTER - 10 : 0) };
}

function draw(topology) {
  const svg = at("fabric");
  svg.replaceChildren();
  state.drawn.clear();
  const { found, upright, width, height } = places(topology.nodes);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  at("picture").style.setProperty("--wide", `${Math.round(width)}px`);
  const lines = made("g", {}, svg);
  topology.links.forEach((link, index) => {
    const [a, b] = [found.get(link.from), found.get(link.to)];
    const line = made("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "data-link": `${link.a}-${link.b}` }, lines);
    made("title", {}, line).textContent = `${link.a} - ${link.b}`;
    line.addEventListener("click", () => choose({ link: index }));
    state.drawn.set(index, line);
  });
  for (const node of topology.nodes) {
    const { x, y, box, r } = found.get(node.name), isSwitch = node.kind === "switch";
    const shape = isSwitch
      ? made("rect", { x: x - box / 2, y: y - 9, width: box, height: 18, rx: 3, "data-node": node.name }, svg)
      : made("circle", { cx: x, cy: y, r, "data-node": node.name }, svg);
    made("title", {}, shape).textContent = node.name;
    shape.addEventListener("click", () => choose({ node: node.name }));
    const turned = upright && !isSwitch;
    const place = turned ? { transform: `translate(${x} ${y + 9}) rotate(-90)`, class: "upright" } : { x, y: isSwitch ? y + 4 : y + 20 };
    made("text", place, svg).textContent = brief(node.name);
    state.drawn.set(node.name, shape);
  }
  at("name").textContent = topology.name;
}

const flows = (link) => link.ends.filter((end) => end);
const lost = (end) => end.trimmed + end.bounced + end.congestion_dropped + end.injected;
const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);
const load = (link) => Math.max(0, ...flows(link).map((end) => end.load || 0));
const percent = (share) => share === null ? "" : `${(100 * share).toFixed(1)}\u202f%`;
const shade = (share) => `hsl(${Math.round(120 - 120 * Math.min(1, share))} 65% 45%)`;

// Whether that changed it.
function set(element, name, value) {
  if (element.getAttribute(name) === value) return false;
  element.setAttribute(name, value);
  return true;
}

function show(moment) {
  state.last = moment;
  document.querySelector("main").hidden = false;
  trouble(moment.missing.join("; "));
  moment.links.forEach((link, index) => {
    const line = state.drawn.get(index);
    if (!line) return;
    const losing = sum(flows(link).map(lost)) > 0;
    const chosen = state.chosen && state.chosen.link === index ? " chosen" : "";
    const kind = (!link.up ? "down" : link.out.length ? "out" : losing ? "loses" : "") + chosen;
    if (set(line, "class", kind) && kind) line.parentNode.append(line); // above those that nothing is told of
    const colour = link.up && !link.out.length && load(link) > 0.001 ? `stroke: ${shade(load(link))}` : "";
    if (line.style.cssText !== colour) line.style.cssText = colour;
  });
  let connected = 0;
  for (const [name, each] of Object.entries(moment.switches)) {
    connected += each.connected;
    const shape = state.drawn.get(name);
    if (shape) set(shape, "class", (!each.alive ? "dead" : each.connected ? "" : "away") + chosenAs(name));
  }
  for (const { name, kind } of state.topology.nodes) {
    if (kind === "host") set(state.drawn.get(name), "class", chosenAs(name));
  }
  const down = moment.links.filter((link) => !link.up).length;
  const out = moment.links.filter((link) => link.up && link.out.length).length;
  at("summary").textContent = `${connected} of ${Object.keys(moment.switches).length} switches in hand, `
    + `${down} ${down === 1 ? "link" : "links"} down, ${out} left out, revision ${moment.revision}`;
  showBusiest(moment);
  showEvents(moment.events);
  showPolicy(moment.policy);
  showChosen();
  showPast(moment).catch((error) => { state.past = ""; trouble(error.message); });
}

function cells(row, values) { for (const value of values) row.insertCell().textContent = value; }

const chosenAs = (name) => state.chosen && state.chosen.node === name ? " chosen" : "";

function showBusiest(moment) {
  const body = at("busiest").tBodies[0];
  body.replaceChildren();
  moment.links.map((link, index) => [index, link]).filter(([, link]) => flows(link).length)
    .map(([index, link]) => ({ index, link, lost: sum(flows(link).map(lost)), load: load(link) }))
    .sort((x, y) => y.lost - x.lost || y.load - x.load).slice(0, 8)
    .forEach((each) => {
      const { a, b } = state.topology.links[each.index];
      cells(body.insertRow(), [`${a} - ${b}`, percent(each.load), each.lost, sum(flows(each.link).map((end) => end.marked))]);
    });
}

function items(list, entries) {
  if (!entries.length) return list.replaceChildren("none");
  list.replaceChildren(...entries.map(([seconds, text, bad]) => {
    const item = document.createElement("li");
    const time = document.createElement("time");
    time.textContent = `${new Date(1000 * seconds).toLocaleTimeString()} `;
    item.append(time, text);
    if (bad) item.className = "bad";
    return item;
  }));
}

function showEvents(events) {
  items(at("events"), [...events].reverse().map((each) => [each.time, `${each.what} ${each.up ? "up" : "down"}: ${each.why}`, !each.up]));
}

async function showChanges() {
  const { changes } = await (await ask("/v1/changes")).json();
  items(at("changes"), changes.slice(-30).reverse().map((each) => [each.time, each.what.join("; ") + (each.in_force ? "" : " (not in force yet)"), false]));
}

const chosenName = () => {
  if (!state.chosen) return null;
  if ("node" in state.chosen) return state.chosen.node;
  return state.topology.links[state.chosen.link].a;
};

// Asked for again when something was chosen, asked for, or went: not every second.
async function showPast(moment) {
  const about = chosenName(), newest = moment.events.at(-1);
  const asked = JSON.stringify([about, moment.revision, newest && newest.time]);
  if (asked === state.past) return;
  state.past = asked;
  const found = await ask(`/v1/paths/history?limit=100${about ? `&about=${encodeURIComponent(about)}` : ""}`);
  const { history } = await found.json();
  if (state.past !== asked) return;
  at("past-name").textContent = about ? `Path history of ${at("chosen-name").textContent}` : "Path history";
  items(at("past"), history.map((each) =>
    [each.time, [each.what, each.why, each.who && `by ${each.who}`].filter(Boolean).join(", "), each.bad]));
}

function options(select, values) { select.replaceChildren(...values.map((value) => new Option(value, value))); }

function showPolicy(policy) {
  if (at("policy").contains(document.activeElement)) return;
  at("spray").value = policy.spray;
  at("signal").value = policy.loss_signal;
}

function choose(what) { state.chosen = what; at("outcome").textContent = ""; if (state.last) show(state.last); }

function showChosen() {
  at("chosen").hidden = !state.chosen;
  if (!state.chosen) return;
  const { topology, last } = state;
  at("ends").replaceChildren();
  at("spread").replaceChildren();
  let name, isDrained;
  if ("link" in state.chosen) {
    const wired = topology.links[state.chosen.link], link = last.links[state.chosen.link];
    const names = [wired.a, wired.b, `${wired.from}-${wired.to}`, `${wired.to}-${wired.from}`];
    const rule = last.drains.find((drain) => names.includes(drain.what));
    name = rule ? rule.what : wired.a;
    isDrained = Boolean(rule);
    at("chosen-name").textContent = `${wired.a} - ${wired.b}`;
    at("chosen-state").textContent = !link.up ? "down" : link.out.length ? link.out.join("; ") : "used";
    const told = [[wired.a, link.ends[0]], [wired.b, link.ends[1]]].filter(([, flow]) => flow);
    const rows = { from: ([end]) => end, load: ([, flow]) => percent(flow.load), trimmed: ([, flow]) => flow.trimmed,
      bounced: ([, flow]) => flow.bounced, dropped: ([, flow]) => flow.congestion_dropped,
      "lost by faults": ([, flow]) => flow.injected, marked: ([, flow]) => flow.marked };
    if (told.length) for (const [what, of] of Object.entries(rows)) cells(at("ends").insertRow(), [what, ...told.map(of)]);
    for (const [end, flow] of told) at("spread").append(`DATA of ${end} by path bucket`, bars(flow.paths));
  } else {
    name = state.chosen.node;
    const node = topology.nodes.find((each) => each.name === name), known = last.switches[name];
    at("chosen-name").textContent = name;
    at("chosen-state").textContent = node.kind === "host" ? node.ip
      : !known ? "" : known.error || (known.connected ? `${node.role || "switch"}, in hand` : "no session");
    const totals = topology.links.map((wired, index) => [wired, last.links[index]])
      .flatMap(([wired, link]) => [[wired.from, wired.b, link.ends[0]], [wired.to, wired.a, link.ends[1]]])
      .filter(([from, , flow]) => from === name && flow);
    if (totals.length) cells(at("ends").insertRow(), ["to", "load", "lost", "marked"]);
    for (const [, to, flow] of totals) cells(at("ends").insertRow(), [to, percent(flow.load), lost(flow), flow.marked]);
    if (totals.length) at("spread").append("DATA by port", bars(totals.map(([, , flow]) => sum(flow.paths))));
    isDrained = last.drains.some((drain) => drain.what === name);
  }
  const button = at("drain");
  button.hidden = state.role !== "operator";
  button.textContent = isDrained ? "Undrain" : "Drain";
  button.onclick = () => change(`/v1/drains/${encodeURIComponent(name)}`, { method: isDrained ? "DELETE" : "PUT" });
}

function bars(values) {
  const most = Math.max(1, ...values), box = document.createElement("div");
  box.className = "bars";
  box.append(...values.map((value) => { const bar = document.createElement("span"); bar.style.height = `${100 * value / most}%`; bar.title = value; return bar; }));
  return box;
}

async function change(path, options) {
  const outcome = at("outcome");
  outcome.className = "";
  outcome.textContent = "...";
  try {
    const { pending } = await (await ask(path, options)).json();
    const names = Object.keys(pending);
    outcome.textContent = names.length ? `not in force yet on ${names.join(", ")}` : "in force on all switches";
    await showChanges();
  } catch (error) {
    outcome.className = "error";
    outcome.textContent = error.message;
  }
}

at("policy").addEventListener("submit", (event) => {
  event.preventDefault();
  at("chosen").hidden = false;
  document.activeElement.blur();
  change("/v1/policy", {
    method: "PATCH",
    headers: { "Content-Type": "application/json", "If-Match": `"${state.last.revision}"` },
    body: JSON.stringify({ spray: at("spray").value, loss_signal: at("signal").value }),
  });
});

at("who").addEventListener("submit", (event) => {
  event.preventDefault();
  state.token = at("token").value;
  sessionStorage.setItem("token", state.token);
  at("token").value = "";
  location.reload();
});

// EventSource cannot send a token; the format is the same.
async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) yield JSON.parse(text.slice(6, end));
  }
}

async function watch() {
  const who = await (await ask("/v1/whoami")).json();
  state.role = who.role;
  at("role").textContent = `${who.name}, ${who.role}`;
  at("set").hidden = who.role !== "operator";
  let revision;
  for await (const moment of events(await ask("/v1/stream"))) {
    if (moment.revision !== revision || !state.topology) {
      revision = moment.revision;
      const topology = await (await ask("/v1/topology")).json(), shape = JSON.stringify(topology);
      if (shape !== state.shape) { state.topology = topology; state.shape = shape; state.chosen = null; draw(topology); }
      await showChanges();
    }
    if (moment.links.length === state.topology.links.length) show(moment);
  }
}

options(at("spray"), MODES);
options(at("signal"), SIGNALS);
for (;;) {
  try { await watch(); trouble("the service has ended; trying again"); } catch (error) {
    trouble(error.message);
    if (error.status === 401) break;
  }
  await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
}
