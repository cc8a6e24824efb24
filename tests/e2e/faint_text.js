// Return how many pieces of text are visible, and those whose colour has less contrast with what lies
// behind it than asked, with their ratios (WCAG 2.2, success criterion 1.4.3).
(least) => {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    probe.clearRect(0, 0, 1, 1); probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, ground) => top.slice(0, 3).map((c, i) => c * top[3] + ground[i] * (1 - top[3]));
  const light = (c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  };
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const ground = (element) => {
    if (!element) return [255, 255, 255];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, ground(element.parentElement));
  };
  const faint = [];
  let seen = 0;
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    if (!text || box.width < 2 || box.height < 2 || style.visibility !== "visible") continue;
    if (element.closest("script, style, noscript, title, desc")) continue;
    let solid = true;
    for (let e = element; e; e = e.parentElement) solid &&= getComputedStyle(e).opacity === "1";
    const colour = rgba(element.tagName === "text" ? style.fill : style.color), behind = ground(element);
    const [high, low] = [luminance(over(colour, behind)), luminance(behind)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    seen += 1;
    if (ratio < least || !solid) faint.push(`${element.tagName}.${element.className}: ${ratio.toFixed(2)}`);
  }
  return [seen, faint];
}
