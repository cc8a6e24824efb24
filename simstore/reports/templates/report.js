"use strict";
// Passages and samples are selected by pointer or keys; what belongs to them is shown in a panel.
// All strings become text nodes, never markup.
(() => {
  const { words, form, parts, pairs } = JSON.parse(document.getElementById("data").textContent);
  const AT_ONCE = 100, PRINTED = 300;
  const grouped = (number) => number.toLocaleString("en");
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

  // What a source says: told in turns, what stands before a block that is the same, and the block.
  function sourceOf(part, copy) {
    if (copy[8] === null) return null;
    const flat = copy[7];
    return copy.points ??= copy[8].flatMap((piece, at) =>
      piece === 0 ? pointsOf(part).slice(flat[2 * at - 2], flat[2 * at - 1]) : Array.from(piece));
  }

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
    const place = (start, end) => made("span", filled(words.span, grouped(start + 1), grouped(end)));
    const side = (name, start, end, text) => made("div", made("p.side", name, place(start, end)), text);
    const low = found.length ? found[0].b0 : sourceStart;
    const high = found.length ? found[found.length - 1].b1 : sourceEnd;
    const left = made("p.words"), right = made("p.words");
    left.dir = right.dir = "auto";
    const source = sourceOf(part, copy);
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
    const remark = evidence === "text" ? null : made("p.remark", evidence === "words" ? words.by_words : words[evidence]);
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

  // The best copy of a passage whose source is not put aside.
  const bestOf = (part, alike) => alike.find(([place]) => !part.aside?.has(part.copies[place][2]));

  function aboutPassage(part, number, panel, chosen, whole) {
    const [start, end, kind, alike] = part.passages[number];
    const at = chosen ?? bestOf(part, alike)?.[0] ?? alike[0][0], copy = part.copies[at];
    // One similarity a passage and source, however much of the stretch is shown.
    const shares = alike.filter(([place]) => !part.aside?.has(part.copies[place][2]) || place === chosen);
    if (!shares.length) shares.push(...alike);
    const share = shares.find(([place]) => place === at)[1];
    const from = whole ? Math.min(start, copy[0]) : start, to = whole ? Math.max(end, copy[1]) : end;
    const again = (other, all) => {
      show(panel, number, other, all);
      panel.querySelector(all === whole ? "[aria-current]" : ".widen")?.focus();
    };
    const shown = [verdict(share, classOf(part, share, kind), words.of_passage),
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
      made("p.remark.left", filled(words.cut, grouped(left)))));
    else if (part.left) rows.append(made("p.more.remark", filled(words.left_out_cases, grouped(part.left))));
  }
  for (const details of document.querySelectorAll("details.all"))
    details.addEventListener("toggle", () => details.open && (details.querySelector(".row") || fill(details, AT_ONCE)));

  // On paper every source has its line, and every sample its matches; copied stretches are printed
  // where a reader has opened them.
  const folded = document.querySelectorAll(form === "run" ? "details" : "details.others");
  addEventListener("beforeprint", () => folded.forEach((details) => {
    if (details.matches(".all:not(:has(.row))")) fill(details, PRINTED);
    details.dataset.closed = details.open ? "" : "yes";
    details.open = true;
  }));
  addEventListener("afterprint", () => folded.forEach((details) => {
    if (details.dataset.closed) details.open = false;
  }));

  // Putting sources aside: the totals are counted again from the copies of the others.
  function inkOf(part) {
    if (part.ink) return part.ink;
    const odd = new Set(part.odd), ink = part.ink = new Uint8Array(pointsOf(part).length);
    part.points.forEach((sign, place) => { ink[place] = /\s/.test(sign) === odd.has(place) ? 1 : 0; });
    for (let i = 0; i < part.omitted.length; i += 2) ink.fill(0, part.omitted[i], part.omitted[i + 1]);
    return ink;
  }
  // Mark the characters of copies that count: in a copy 1, the same in the source 2 more.
  function covered(part, wanted) {
    const found = new Uint8Array(pointsOf(part).length);
    const mark = (start, end, bit) => { for (let place = start; place < end; place++) found[place] |= bit; };
    for (const [start, end, number, , , , , flat] of part.copies) {
      if (!wanted(number)) continue;
      mark(start, end, 1);
      for (let i = 0; i < flat.length; i += 4) mark(flat[i], flat[i + 1], 2);
    }
    for (const [number, start, end, flat] of part.rest) {
      if (!wanted(number)) continue;
      mark(start, end, 1);
      for (let i = 0; i < flat.length; i += 2) mark(flat[i], flat[i + 1], 2);
    }
    return found;
  }
  function inked(part, found, bit, start = 0, end = found.length) {
    const ink = inkOf(part);
    let count = 0;
    for (let place = start; place < end; place++) if (ink[place] && found[place] & bit) count++;
    return count;
  }
  function largest(part, wanted) {
    const of = new Map();
    for (const [start, end, number] of part.copies) if (wanted(number)) of.set(number, [...of.get(number) ?? [], [start, end]]);
    for (const [number, start, end] of part.rest) if (wanted(number)) of.set(number, [...of.get(number) ?? [], [start, end]]);
    const before = part.before ??= inkOf(part).reduce((sums, one) => (sums.push(sums[sums.length - 1] + one), sums), [0]);
    let most = 0;
    for (const spans of of.values()) {
      let count = 0, reach = 0;
      for (const [start, end] of spans.sort(([a], [b]) => a - b)) {
        if (end > reach) count += before[end] - before[Math.max(start, reach)];
        reach = Math.max(reach, end);
      }
      most = Math.max(most, count);
    }
    return most;
  }

  function recount(n) {
    const part = parts[n], article = document.getElementById(`part-${n}`), wanted = (number) => !part.aside.has(number);
    const found = covered(part, wanted), total = part.characters || 1;
    const put = (of, said) => {
      const place = article.querySelector(`[data-of="${of}"]`);
      if (place) (place.querySelector("span") ?? place).textContent = said;
      return place;
    };
    const copied = inked(part, found, 1);
    const before = article.dataset.share ??= article.querySelector("[data-of=share]").textContent;
    put("share", percent(copied / total));
    article.querySelector(".hero .meter rect").setAttribute("width", Math.round(1000 * copied / total));
    put("word_for_word", percent(inked(part, found, 2) / total));
    put("largest", percent(largest(part, wanted) / total));
    const characters = article.querySelector("[data-of=characters] small");
    characters.textContent = characters.textContent.replace(/\d[\d,]*/, grouped(copied));
    const quoted = found.slice();
    for (let i = 0; i < part.quoted.length; i += 2) quoted.fill(0, part.quoted[i], part.quoted[i + 1]);
    put("without_quotations", percent(inked(part, quoted, 1) / total));
    const all = article.querySelector("[data-of=with_excluded] span");
    if (all) {
      all.dataset.all ??= all.textContent;
      all.textContent = part.aside.size ? "–" : all.dataset.all;
    }
    const classes = { high: 0, moderate: 0, low: 0, excluded: 0 };
    for (const span of spansOf(n)) {
      const [, , kind, alike] = part.passages[numberOf(span)], best = bestOf(part, alike);
      const now = best ? classOf(part, best[1], kind) : kind === "excluded" ? kind : "low";
      span.className = `p ${best ? now : "excluded"}`;
      if (best) span.dataset.n = part.copies[best[0]][2]; else delete span.dataset.n;
      classes[now]++;
    }
    put("high", grouped(classes.high));
    put("moderate", grouped(classes.moderate));
    put("none", grouped(part.counted - classes.high - classes.moderate));
    part.chapters.forEach(([start, end, size], number) => {
      const row = article.querySelector(`[data-chapter="${number}"]`), here = inked(part, found, 1, start, end);
      row.querySelector(".share span").textContent = percent(here / (size || 1));
      row.querySelector("rect").setAttribute("width", Math.round(1000 * here / (size || 1)));
      const [told, same] = row.querySelectorAll(".fact");
      told.textContent = grouped(here);
      same.textContent = percent(inked(part, found, 2, start, end) / (size || 1));
    });
    article.classList.toggle("recounted", part.aside.size > 0);
    const notice = article.querySelector(".aside");
    notice.hidden = !part.aside.size;
    const many = part.aside.size === 1 ? words.aside_one : words.aside_many;
    notice.replaceChildren(filled(many, part.aside.size, before), " ", words.not_recounted, " ", button("", words.count_all, () => {
      part.aside.clear();
      for (const box of article.querySelectorAll("[data-source] input")) box.checked = true;
      for (const row of article.querySelectorAll(".put-aside")) row.classList.remove("put-aside");
      recount(n);
    }));
    const panel = panelOf(n);
    if (panel?.dataset.pinned !== undefined) show(panel, Number(panel.dataset.pinned));
  }
  function offer(rows, n) {
    const part = parts[n];
    for (const row of rows) {
      if (row.querySelector("input")) continue;
      const number = Number(row.dataset.source), box = made("input");
      box.type = "checkbox";
      box.checked = !part.aside.has(number);
      box.setAttribute("aria-label", filled(words.count_source, number));
      box.addEventListener("change", () => {
        if (box.checked) part.aside.delete(number); else part.aside.add(number);
        row.classList.toggle("put-aside", !box.checked);
        recount(n);
      });
      row.querySelector(".badge").before(box);
    }
  }
  if (form === "check") parts.forEach((part, n) => {
    part.aside = new Set();
    const from = document.querySelector(`#part-${n} .from`);
    if (!from) return;
    offer(from.querySelectorAll("tr[data-source]"), n);
    const others = from.querySelector("details.others");
    others?.addEventListener("toggle", () => offer(others.querySelectorAll("li[data-source]"), n));
  });

  // Two papers side by side: what both have in common is marked, and leads to its place in the other.
  function marked(part, spans, name) {
    const points = pointsOf(part), text = made("div.words");
    text.dir = "auto";
    let place = 0;
    for (const [start, end, number] of spans.sort(([a], [b]) => a - b)) {
      if (end <= place) continue;
      const from = Math.max(start, place), mark = twin(made("mark.same", cut(points, from, end)), number);
      text.append(cut(points, place, from), mark);
      mark.tabIndex = 0;
      mark.setAttribute("role", "button");
      mark.title = filled(words.copied_in, name, number + 1);
      place = end;
    }
    text.append(cut(points, place, points.length));
    return text;
  }
  const two = document.getElementById("two");
  function sideBySide(number, opener) {
    const [first, second, copies] = pairs[number], spans = [[], []];
    copies.forEach(([start, end, sourceStart, sourceEnd, ...flat], copy) => {
      if (!flat.length) flat = [start, end, sourceStart, sourceEnd];
      for (let i = 0; i < flat.length; i += 4) {
        spans[0].push([flat[i], flat[i + 1], copy]);
        spans[1].push([flat[i + 2], flat[i + 3], copy]);
      }
    });
    const titles = [first, second].map((n) => document.getElementById(`title-${n}`).textContent);
    const columns = [first, second].map((n, at) => {
      const column = made("div.column", made("h4", made("bdi", titles[at])), marked(parts[n], spans[at], titles[1 - at]));
      column.tabIndex = 0;
      column.setAttribute("role", "region");
      column.setAttribute("aria-label", titles[at]);
      return column;
    });
    const close = button(words.close, "×", () => {
      two.hidden = true;
      two.replaceChildren();
      opener.focus();
    });
    two.replaceChildren(made("div.steps", made("h3", words.side_by_side), close), made("div.columns", ...columns));
    two.hidden = false;
    const lead = ({ target }) => {
      const mark = target.closest("mark");
      if (!mark) return;
      const other = columns[columns[0].contains(mark) ? 1 : 0].querySelector(`[data-twin="${mark.dataset.twin}"]`);
      const there = other?.closest(".column");
      if (there) there.scrollTop += other.getBoundingClientRect().top - mark.getBoundingClientRect().top;
      for (const one of two.querySelectorAll("mark")) one.classList.toggle("twin", one.dataset.twin === mark.dataset.twin);
    };
    for (const column of columns) {
      column.addEventListener("click", lead);
      column.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " " || !event.target.closest("mark")) return;
        lead(event);
        event.preventDefault();
      });
    }
    for (const column of columns) {
      const mark = column.querySelector("[data-twin='0']");
      if (mark) column.scrollTop = mark.offsetTop - 80;
    }
    two.scrollIntoView({ block: "nearest" });
    columns[0].querySelector("mark")?.focus({ preventScroll: true });
  }
  for (const cell of document.querySelectorAll("td[data-pair]")) {
    const opener = button("", words.side_by_side, () => sideBySide(Number(cell.dataset.pair), opener));
    cell.append(opener);
  }
})();
