"use strict";
// Passages and samples are selected by pointer or keys; what belongs to them is shown in a panel.
// All strings become text nodes, never markup.
(() => {
  const { words, form, parts } = JSON.parse(document.getElementById("data").textContent);
  const AT_ONCE = 100, PRINTED = 300;
  const filled = (said, ...values) => values.reduce((text, value) => text.replace("{}", value), said);
  const percent = (share) => `${(Math.min(share < 1 ? 0.999 : 1, share) * 100).toFixed(1).replace(".0", "")}%`;

  // Make an element: made("p.soft", text or element, ...).
  function made(name, ...children) {
    const [tag, ...classes] = name.split(".");
    const element = document.createElement(tag);
    element.classList.add(...classes);
    element.append(...children.filter((child) => child !== null));
    return element;
  }
  function button(label, text, action) {
    const element = made("button", text);
    element.type = "button";
    if (label) element.setAttribute("aria-label", label);
    element.addEventListener("click", action);
    return element;
  }
  const badge = (number) => number ? made(`b.badge.c${(number - 1) % 12}`, String(number)) : null;

  // The name of a copy's source; where more is told of it, that is a link.
  function named(part, [, , number, ...copy]) {
    const name = made("bdi", part.sources[number - 1] ?? copy[copy.length - 1]);
    const address = part.links?.[number - 1];
    if (!address) return name;
    const link = made("a", name);
    link.href = address;
    return link;
  }

  // Places count code points, as the report's maker does; JavaScript counts UTF-16 units.
  const cut = (points, start, end) => points.slice(start, end).join("");
  const pointsOf = (part) => part.points ??= Array.from(part.text);

  // The stretches of a copy, the same and the different ones in turn, within [from, to) of the paper.
  function stretches(copy, from, to) {
    const [start, end, , sourceStart, sourceEnd, , , flat] = copy;
    const all = [];
    let a = start, b = sourceStart;
    for (let i = 0; i <= flat.length; i += 4) {
      const [a0, a1, b0, b1] = i < flat.length ? flat.slice(i, i + 4) : [end, end, sourceEnd, sourceEnd];
      if (a0 > a || b0 > b) all.push({ same: false, a0: a, a1: a0, b0: b, b1: b0 });
      if (a1 > a0) all.push({ same: true, a0, a1, b0, b1 });
      [a, b] = [a1, b1];
    }
    // What of the paper lies before and after the copy is in the source no more.
    if (from < start) all.unshift({ same: false, a0: from, a1: start, b0: sourceStart, b1: sourceStart });
    if (to > end) all.push({ same: false, a0: end, a1: to, b0: sourceEnd, b1: sourceEnd });
    return all.filter((s) => s.a1 > from && s.a0 < to || s.a0 === s.a1 && s.a0 > from && s.a0 < to).map((s) => {
      const a0 = Math.max(s.a0, from), a1 = Math.min(s.a1, to);
      if (!s.same || a1 <= a0) return { ...s, a0: Math.min(a0, a1), a1 };
      const rate = (s.b1 - s.b0) / (s.a1 - s.a0);
      return { ...s, a0, a1, b0: Math.round(s.b0 + (a0 - s.a0) * rate), b1: Math.round(s.b1 - (s.a1 - a1) * rate) };
    });
  }

  // A copy, or a part of it, with the source beside the paper.
  function pair(part, copy, from, to) {
    const found = stretches(copy, from, to), paper = pointsOf(part);
    const [, , , sourceStart, sourceEnd, , evidence] = copy;
    const place = (start, end) => made("span", filled(words.span, start + 1, end));
    const side = (name, start, end, text) => made("div", made("p.side", name, place(start, end)), text);
    const low = found.length ? found[0].b0 : sourceStart;
    const high = found.length ? found[found.length - 1].b1 : sourceEnd;
    const left = made("p.words"), right = made("p.words");
    left.dir = right.dir = "auto";
    const source = copy[8] === null ? null : Array.from(copy[8]);
    found.forEach((stretch, number) => {
      const sides = [[left, cut(paper, stretch.a0, stretch.a1)]];
      if (source) sides.push([right, cut(source, stretch.b0 - sourceStart, stretch.b1 - sourceStart)]);
      for (const [place, text] of sides) {
        // Blanks and stops between words are no difference that anybody looks for.
        const [, before, words, after] = /^([^\p{L}\p{N}]*)(.*?)([^\p{L}\p{N}]*)$/su.exec(text);
        if (stretch.same) place.append(twin(made("mark.same", text), number));
        else place.append(before, words ? twin(made("span.other", words), number) : "", after);
      }
    });
    if (!source) {
      right.append(words.no_text);
      const runs = found.filter((s) => s.same).map((s) => `${s.b0 + 1}–${s.b1}`).join(", ");
      if (runs) right.append(made("br"), `${words.runs}: ${runs}`);
    }
    const both = made("div.pair", side(words.in_paper, from, to, left), side(words.in_source, low, high, right));
    both.addEventListener("pointerover", ({ target }) => {
      for (const element of both.querySelectorAll("[data-twin]"))
        element.classList.toggle("twin", element.dataset.twin === target.dataset?.twin);
    });
    const remark = evidence === "text" ? null : made("p.remark", words[evidence === "words" ? "by_words" : evidence]);
    return [both, remark];
  }
  function twin(element, number) {
    element.dataset.twin = number;
    return element;
  }
  const signs = () => made("p.signs", made("span", made("span.same", "abc"), ` ${words.same}`),
    made("span", made("span.other", "abc"), ` ${words.different}`));

  function verdict(similarity, kind, of = null) {
    return made("p.verdict", made("strong", percent(similarity)), of && made("small", of),
      made(`span.tag.${kind}`, words[kind]));
  }

  // The class of a similarity; what does not count is in none.
  function classOf(part, similarity, kind) {
    const [high, moderate] = part.limits;
    if (kind === "excluded") return kind;
    return similarity >= high ? "high" : similarity >= moderate ? "moderate" : "low";
  }

  function aboutPassage(part, number, panel, chosen, whole) {
    const [start, end, kind, alike] = part.passages[number];
    const at = chosen ?? alike[0][0], copy = part.copies[at];
    // All shares that are shown at once are of one thing: the passage, or the whole stretches.
    const shares = alike.map(([place, similarity]) => [place, whole ? part.copies[place][5] : similarity]);
    const share = shares.find(([place]) => place === at)[1];
    const from = whole ? Math.min(start, copy[0]) : start, to = whole ? Math.max(end, copy[1]) : end;
    const again = (other, all) => {
      show(panel, number, other, all);
      panel.querySelector(all === whole ? "[aria-current]" : ".widen")?.focus();
    };
    const shown = [verdict(share, classOf(part, share, kind), whole ? words.of_stretch : words.of_passage),
      made("p.origin", badge(copy[2]), named(part, copy)),
      ...pair(part, copy, from, to)];
    if (copy[8] !== null) shown.push(signs());
    if (whole || copy[0] < start || copy[1] > end) {
      const widen = button("", whole ? words.part : words.whole, () => again(at, !whole));
      widen.classList.add("widen");
      shown.push(widen);
    }
    if (shares.length > 1) {
      const list = made("ul");
      for (const [place, similarity] of shares.sort(([, one], [, two]) => two - one).slice(0, AT_ONCE)) {
        const other = part.copies[place], label = made("i", part.sources[other[2] - 1] ?? other[9]);
        const choose = button("", "", () => again(place, whole));
        choose.append(...[badge(other[2]), label, percent(similarity)].filter(Boolean));
        if (place === at) choose.setAttribute("aria-current", "true");
        list.append(made("li", choose));
      }
      shown.push(made("div.also", words.also, list));
    }
    return shown;
  }

  function aboutMatch(part, row) {
    const [number, distance, resemblance, containment, reverse, channels, sketch] = row;
    const facts = made("dl");
    const tell = (name, value) => value !== null && facts.append(made("dt", name), made("dd", value));
    tell(words.distance, distance === null ? null : String(distance));
    tell(words.resemblance, resemblance === null ? null : percent(resemblance));
    tell(words.containment, containment === null ? null : percent(containment));
    tell(words.containment_reverse, reverse === null ? null : percent(reverse));
    tell(words.found_by, channels.join(" + "));
    const text = part.texts[number - 1];
    const excerpt = text ? made("p.excerpt", text) : null;
    if (excerpt) excerpt.dir = "auto";
    return made("div.match", made("p.origin", badge(number), made("bdi", part.sources[number - 1])), facts,
      sketch ? made("p.remark", words.by_sketch) : null, excerpt);
  }
  function aboutSample(part, element, rows) {
    const [key, similarity, kind, matches] = part.samples[element];
    return [verdict(similarity, kind === "none" ? "low" : kind), made("p.origin", made("bdi", key)),
      ...matches.slice(0, rows).map((row) => aboutMatch(part, row))];
  }

  // Selecting.
  const lists = new Map();
  const spansOf = (n) => {
    if (!lists.has(n)) lists.set(n, [...document.querySelectorAll(`#text-${n} .p`)]);
    return lists.get(n);
  };
  const panelOf = (n) => document.getElementById(`panel-${n}`);
  const numberOf = (span) => Number(span.id.split("-")[1]);
  const partOf = (span) => Number(span.closest(".text").dataset.part);

  function show(panel, number, chosen, whole = false) {
    const n = Number(panel.dataset.part), part = parts[n], spans = spansOf(n);
    const at = spans.findIndex((span) => numberOf(span) === number);
    const step = (by) => button(by < 0 ? words.previous : words.next, by < 0 ? "‹" : "›", () => {
      const span = spans[(at + by + spans.length) % spans.length];
      pin(span);
      span.scrollIntoView({ block: "center" });
      panel.querySelectorAll(".steps button")[by < 0 ? 0 : 1].focus();
    });
    const close = button(words.close, "×", () => leave(n));
    const steps = made("div.steps", made("span", filled(words.position, at + 1, spans.length)), step(-1), step(1), close);
    const about = form === "run" ? aboutSample(part, number, AT_ONCE) : aboutPassage(part, number, panel, chosen, whole);
    panel.replaceChildren(steps, ...about.filter((child) => child !== null));
    panel.scrollTop = 0;
  }
  function pin(span) {
    const n = partOf(span), panel = panelOf(n);
    for (const other of spansOf(n)) {
      if (other.hasAttribute("aria-pressed")) other.removeAttribute("aria-pressed");
      if (other.tabIndex === 0) other.tabIndex = -1;
    }
    span.setAttribute("aria-pressed", "true");
    span.tabIndex = 0;
    panel.dataset.pinned = numberOf(span);
    panel.setAttribute("aria-live", "polite");
    panel.classList.add("open");
    show(panel, numberOf(span));
  }
  function leave(n) {
    const panel = panelOf(n);
    const span = spansOf(n).find((one) => one.getAttribute("aria-pressed"));
    delete panel.dataset.pinned;
    panel.classList.remove("open");
    panel.replaceChildren(made("p.empty", words.panel_empty));
    span?.removeAttribute("aria-pressed");
    span?.focus({ preventScroll: true });
  }
  function go(span) {
    const n = partOf(span);
    for (const other of spansOf(n)) if (other.tabIndex === 0) other.tabIndex = -1;
    span.tabIndex = 0;
    span.focus();
    span.scrollIntoView({ block: "nearest" });
    if (panelOf(n).dataset.pinned !== undefined) pin(span);
  }

  const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  for (const text of document.querySelectorAll(".text")) {
    const n = Number(text.dataset.part), spans = spansOf(n), panel = panelOf(n);
    if (!spans.length) continue;
    spans[0].tabIndex = 0;
    text.addEventListener("click", ({ target }) => {
      const span = target.closest(".p");
      if (!span) return;
      if (span.getAttribute("aria-pressed")) leave(n); else pin(span);
    });
    let waiting = 0;
    text.addEventListener("pointerover", ({ target, pointerType }) => {
      const span = target.closest(".p");
      clearTimeout(waiting);
      if (!span || pointerType === "touch" || panel.dataset.pinned !== undefined) return;
      panel.setAttribute("aria-live", "off");
      waiting = setTimeout(() => panel.dataset.pinned ?? show(panel, numberOf(span)), 80);
    });
    text.addEventListener("keydown", (event) => {
      const span = event.target.closest(".p");
      if (!span || event.ctrlKey || event.altKey || event.metaKey) return;
      const at = spans.indexOf(span);
      if (event.key === "Enter" || event.key === " ") pin(span);
      else if (event.key === "Home") go(spans[0]);
      else if (event.key === "End") go(spans[spans.length - 1]);
      else if (moves[event.key] && spans[at + moves[event.key]]) go(spans[at + moves[event.key]]);
      else if (!moves[event.key]) return;
      event.preventDefault();
    });
    text.closest("article").addEventListener("keydown", ({ key }) => {
      if (key === "Escape" && panel.dataset.pinned !== undefined) leave(n);
    });
  }

  // A place of the chart leads to the nearest thing there that can be selected.
  for (const chart of document.querySelectorAll(".bars")) {
    chart.addEventListener("click", (event) => {
      const n = Number(chart.dataset.part), part = parts[n], box = chart.getBoundingClientRect();
      const share = (event.clientX - box.left) / box.width;
      const place = share * (form === "run" ? part.samples.length : pointsOf(part).length);
      const away = (number) => form === "run" ? Math.abs(number + 0.5 - place)
        : Math.max(part.passages[number][0] - place, place - part.passages[number][1], 0);
      const spans = spansOf(n);
      if (!spans.length) return;
      const span = spans.reduce((best, one) => away(numberOf(one)) < away(numberOf(best)) ? one : best);
      pin(span);
      span.focus({ preventScroll: true });
      span.scrollIntoView({ block: "center" });
    });
  }

  // All of them one below the other: made when opened, and for print.
  function fill(details, count) {
    const part = parts[Number(details.dataset.part)], rows = details.querySelector(".rows");
    const all = form === "run" ? part.samples.filter((sample) => sample[3].length) : part.cases;
    details.querySelector(".more")?.remove();
    const held = rows.querySelectorAll(".row").length;
    for (const one of all.slice(held, held + count)) {
      const head = form === "run" ? made("p.head", made("bdi", one[0]), percent(one[1]))
        : made("p.head", badge(one[2]), named(part, one), filled(words.identical, percent(one[3])));
      const body = form === "run" ? one[3].slice(0, AT_ONCE).map((row) => aboutMatch(part, row))
        : one[4].flatMap((at) => pair(part, part.copies[at], part.copies[at][0], part.copies[at][1])).filter(Boolean);
      rows.append(made("div.row", head, ...body));
    }
    const left = all.length - Math.min(all.length, held + count);
    if (left) rows.append(made("div.more", button("", words.more, () => fill(details, AT_ONCE)),
      made("p.remark.left", filled(words.cut, left.toLocaleString("en")))));
  }
  for (const details of document.querySelectorAll("details.all")) {
    const filledOnce = (count) => details.querySelector(".row") || fill(details, count);
    details.addEventListener("toggle", () => details.open && filledOnce(AT_ONCE));
    addEventListener("beforeprint", () => {
      filledOnce(PRINTED);
      details.dataset.closed = details.open ? "" : "yes";
      details.open = true;
    });
    addEventListener("afterprint", () => {
      if (details.dataset.closed) details.open = false;
    });
  }
})();
