"use strict";
// Reads values out of figures under the mouse, hides and shows lines, and keeps a watched page up to date.
(() => {
  const main = document.querySelector("main");
  const note = document.getElementById("note");
  const tip = document.getElementById("tip");
  const pixels = new WeakMap();  // of the images of heat maps
  let version = document.body.dataset.version;
  let cross = null;

  function text(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e12)) return value.toExponential(3);
    return value.toLocaleString("en", {maximumSignificantDigits: size >= 1e5 ? 15 : 6});
  }

  function hide() {
    tip.hidden = true;
    if (cross) cross.remove();
    cross = null;
  }

  function show(event, lines, svg, path) {
    if (!cross || cross.parentNode !== svg) {
      if (cross) cross.remove();
      cross = document.createElementNS("http://www.w3.org/2000/svg", "path");
      cross.setAttribute("class", "cross");
      svg.append(cross);
    }
    cross.setAttribute("d", path);
    tip.replaceChildren(...lines.map(([words, color]) => {
      const line = document.createElement("div");
      if (color !== undefined) line.className = `k${color}`;
      line.textContent = words;
      return line;
    }));
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const left = event.clientX + 14 > room ? event.clientX - tip.offsetWidth - 14 : event.clientX + 14;
    const below = event.clientY + 14 + tip.offsetHeight > innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? Math.max(8, event.clientY - tip.offsetHeight - 14) : event.clientY + 14}px`;
  }

  // Percentages of a heat map are the opacities of its pixels.
  function cell(image, column, row) {
    let found = pixels.get(image);
    if (found === undefined) {
      pixels.set(image, found = null);
      const picture = new Image();
      picture.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = picture.naturalWidth;
        canvas.height = picture.naturalHeight;
        const context = canvas.getContext("2d");
        context.drawImage(picture, 0, 0);
        pixels.set(image, context.getImageData(0, 0, canvas.width, canvas.height));
      };
      picture.src = image.getAttribute("href");
    }
    return found && `${Math.round(found.data[4 * (row * found.width + column) + 3] / 2.55)}%`;
  }

  function readCells(event, svg, readout, [left, top, right, bottom], x, y) {
    const column = Math.floor((x - left) / (right - left) * readout.x.length);
    const row = Math.floor((y - top) / (bottom - top) * readout.y.length);
    const across = readout.across ? `${readout.across} ${readout.x[column]}` : readout.x[column];
    const value = cell(svg.querySelector("image"), column, row);
    const wide = (right - left) / readout.x.length;
    const high = (bottom - top) / readout.y.length;
    const frame = `M${left + column * wide} ${top + row * high}h${wide}v${high}h${-wide}z`;
    show(event, [[`${readout.y[row]}, ${across}${value ? `: ${value}` : ""}`]], svg, frame);
  }

  // The place of a value along the axis, from 0 to 1.
  function share(axis, value) {
    const [low, high, place] = [...axis.ends, value].map((one) => axis.log ? Math.log(one) : one);
    const found = (place - low) / (high - low);
    return axis.flipped ? 1 - found : found;
  }

  function readLines(event, svg, figure, readout, [left, top, right, bottom], x, y) {
    const {axis, lying} = readout;
    const here = lying ? (bottom - y) / (bottom - top) : (x - left) / (right - left);
    const near = lying ? 12 / (bottom - top) : 12 / (right - left);
    const shown = readout.lines.filter(
      (line) => line.x.length && !figure.querySelector(`button[data-series="${line.series}"][aria-pressed=false]`));
    let nearest = null;
    for (const line of shown) {
      for (const value of line.x) {
        const place = share(axis, value);
        if (nearest === null || Math.abs(place - here) < Math.abs(nearest.place - here)) nearest = {place, value};
      }
    }
    if (nearest === null) return hide();
    const lines = [];
    for (const line of shown) {
      const places = line.x.map((value) => share(axis, value));
      let at = -1;
      places.forEach((place, k) => {
        const gap = Math.abs(place - nearest.place);
        const fits = line.step ? place <= nearest.place + 1e-9 && nearest.place <= places.at(-1) + near : gap < near / 2;
        if (fits && (at < 0 || line.step || gap < Math.abs(places[at] - nearest.place))) at = k;
      });
      if (at < 0 || line.y[at] === null) continue;
      const spread = line.low && line.low[at] !== null ? ` (${text(line.low[at])} to ${text(line.high[at])})` : "";
      lines.push([`${line.name}: ${text(line.y[at])}${spread}`, line.color]);
    }
    const place = axis.names.length ? axis.names[Math.round(nearest.value)] : text(nearest.value);
    lines.unshift([axis.title ? `${axis.title} ${place}` : place]);
    const at = lying ? bottom - nearest.place * (bottom - top) : left + nearest.place * (right - left);
    show(event, lines, svg, lying ? `M${left} ${at}H${right}` : `M${at} ${top}V${bottom}`);
  }

  function read(event) {
    const panel = event.target.closest && event.target.closest(".panel");
    const svg = panel && [...panel.children].find((one) => one.clientWidth > 0);
    if (!svg) return hide();
    const readout = panel.readout ??= JSON.parse(panel.dataset.readout);
    const box = svg.dataset.box.split(" ").map(Number);
    const bounds = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / bounds.width;
    const x = (event.clientX - bounds.left) * scale;
    const y = (event.clientY - bounds.top) * scale;
    if (x < box[0] || x >= box[2] || y < box[1] || y >= box[3]) return hide();
    if (readout.cells) readCells(event, svg, readout, box, x, y);
    else readLines(event, svg, panel.closest("figure"), readout, box, x, y);
  }

  // A legend hides and shows lines.
  function toggle(button) {
    const pressed = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!pressed));
    for (const one of button.closest("figure").querySelectorAll(`g[data-series="${button.dataset.series}"]`)) {
      one.style.display = pressed ? "none" : "";
    }
  }

  function say(words, bad) {
    note.textContent = words;
    note.classList.toggle("bad", bad);
    note.hidden = false;
  }

  // A watched page stays where the reader is, with the same parts open and the same lines hidden.
  function update(body) {
    const opened = new Set([...main.querySelectorAll("details[open]")].map((one) => one.dataset.name));
    const name = (button) => `${button.closest("figure").dataset.figure} ${button.textContent}`;
    const hidden = new Set([...main.querySelectorAll("button[aria-pressed=false]")].map(name));
    const fresh = document.createElement("template");
    fresh.innerHTML = body;
    for (const one of fresh.content.querySelectorAll("details")) one.open = opened.has(one.dataset.name);
    for (const one of fresh.content.querySelectorAll("button")) if (hidden.has(name(one))) toggle(one);
    const height = scrollY;
    hide();
    main.replaceChildren(fresh.content);
    scrollTo({top: height, behavior: "instant"});
  }

  async function ask() {
    const answer = await fetch(`data?version=${encodeURIComponent(version)}`, {cache: "no-store"});
    if (!answer.ok) throw new Error(answer.statusText);
    const news = await answer.json();
    if (news.body !== undefined) {
      version = news.version;
      document.title = news.title;
      update(news.body);
    }
    say(news.note, news.bad);
    return news.again;
  }

  async function watch() {
    let pause = 1;
    try {
      pause = await ask();
    } catch (error) {
      say("The server does not answer. This is its last version of the page.", true);
    }
    setTimeout(watch, 1000 * pause);
  }

  for (const kind of ["pointermove", "pointerdown"]) main.addEventListener(kind, read);
  main.addEventListener("pointerleave", hide);
  addEventListener("scroll", hide, {passive: true});
  main.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-series]");
    if (button) toggle(button);
  });
  if (version) watch();
})();
