"use strict";
(() => {
  const given = JSON.parse(document.getElementById("data").textContent);
  const main = document.querySelector("main");
  const note = document.getElementById("note");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 600px)");
  const config = {
    responsive: true, displaylogo: false,
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
  };
  // Heat maps by what they show: from nothing, which is the paper's own colour, to all of it.
  const scales = {
    amount: [["#f4f6f8", "#a9c6e3", "#3f7fbd", "#143f74", "#0a1f3d"], ["#1b2129", "#1d4469", "#2f7bb5", "#7fb8e4", "#cbe4fa"]],
    bits: [["#e8edf2", "#2f5f96"], ["#232b35", "#6aa5dd"]],
  };
  let figures = given.figures;
  let version = given.version;

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  function themedAxis(axis) {
    return {automargin: true, gridcolor: colour("line"), linecolor: colour("line"), zeroline: false, ...axis};
  }

  function themedLayout(place, layout) {
    const themed = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
      dragmode: narrow.matches ? false : "zoom",
      font: {family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("ink")},
      hoverlabel: {bgcolor: colour("wash"), bordercolor: colour("line"), font: {color: colour("ink")}, namelength: -1},
      ...layout,
      legend: {
        orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)",
        traceorder: "normal", ...layout.legend,
      },
      margin: {l: 50, r: 12, t: 32, b: 44, ...layout.margin},
      modebar: {bgcolor: "rgba(0,0,0,0)", color: colour("soft"), activecolor: colour("ink")},
      height: heightOf(place, layout),
    };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(name)) themed[name] = themedAxis(layout[name]);
    }
    return themed;
  }

  // A square figure is as high as it is wide, but for the room that its labels take.
  function heightOf(place, layout) {
    const room = narrow.matches ? 20 : -60;  // its colours stand above it, or beside it
    return layout.meta && layout.meta.square ? Math.min(layout.height, place.clientWidth + room) : layout.height;
  }

  function themedTrace(trace) {
    const themed = {...trace};
    if (trace.colorbar && narrow.matches) {
      themed.colorbar = {...trace.colorbar, orientation: "h", x: 0.5, y: 1, yanchor: "bottom", thickness: 8};
    }
    if (trace.meta && scales[trace.meta.scale]) {
      const colours = scales[trace.meta.scale][dark.matches ? 1 : 0];
      themed.colorscale = colours.map((one, place) => [place / (colours.length - 1), one]);
    }
    return themed;
  }

  function draw(place) {
    const figure = figures[place.dataset.figure];
    if (figure) Plotly.react(place, figure.data.map(themedTrace), themedLayout(place, figure.layout), config);
  }

  // A figure is drawn when it is about to be seen: a study may have hundreds.
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        seen.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, {rootMargin: "800px"});

  function places() {
    return [...main.querySelectorAll("[data-figure]")];
  }

  function prepare(place) {
    const figure = figures[place.dataset.figure];
    if (figure) place.style.height = `${heightOf(place, figure.layout)}px`;
    if (place.classList.contains("js-plotly-plot")) draw(place);
    else seen.observe(place);
  }

  // What was drawn stays where it is and changes in place; the text around it is new.
  function show(body) {
    const drawn = new Map(places().map((place) => [place.dataset.figure, place]));
    const opened = new Set([...main.querySelectorAll("details[open]")].map((one) => one.dataset.name));
    const fresh = document.createElement("template");
    fresh.innerHTML = body;
    for (const place of fresh.content.querySelectorAll("[data-figure]")) {
      const old = drawn.get(place.dataset.figure);
      if (old) place.replaceWith(old);
    }
    for (const one of fresh.content.querySelectorAll("details")) one.open = opened.has(one.dataset.name);
    const height = scrollY;
    main.replaceChildren(fresh.content);
    scrollTo({top: height, behavior: "instant"});
    places().forEach(prepare);
  }

  function say(text, bad) {
    note.textContent = text;
    note.classList.toggle("bad", bad);
    note.hidden = false;
  }

  async function ask() {
    const answer = await fetch(`data?version=${encodeURIComponent(version)}`, {cache: "no-store"});
    if (!answer.ok) throw new Error(answer.statusText);
    const news = await answer.json();
    if (news.body !== undefined) {
      version = news.version;
      figures = news.figures;
      document.title = news.title;
      show(news.body);
    }
    say(news.note, news.bad);
    return news.again;
  }

  async function watch() {
    let pause = 1;
    try {
      pause = await ask();
    } catch (error) {
      say("The server does not answer; this is what it said last.", true);
    }
    setTimeout(watch, 1000 * pause);
  }

  places().forEach(prepare);
  for (const query of [dark, narrow]) query.addEventListener("change", () => places().forEach(prepare));
  addEventListener("beforeprint", () => places().forEach(draw));
  if (version !== null) watch();
})();
