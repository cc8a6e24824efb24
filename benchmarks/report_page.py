"""How long a report of a 200-page paper with 5,000 passages takes to be ready, and how it scrolls.

``python benchmarks/report_page.py [PASSAGES]`` writes the page, opens it in the browser that is
installed and prints: seconds to write it, its bytes, milliseconds from navigation to DOM ready
(best and median of five), and the frames of a scroll through all of it: how many took longer than
50 ms. Needs ``simstore[browser,check]``.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import sync_playwright

from simstore.reports.check_html import html_report
from tests.checked_papers import long_paper
from tests.e2e.browsers import ARGUMENTS, NAMES

ROUNDS = 5
READY = """() => {
  const [entry] = performance.getEntriesByType("navigation");
  return entry.domContentLoadedEventEnd;
}"""
SCROLL = """async () => {
  const frames = [];
  let last = performance.now();
  for (let step = 0; step < 300; step++) {
    scrollTo(0, document.documentElement.scrollHeight * step / 300);
    await new Promise(requestAnimationFrame);
    frames.push(performance.now() - last);
    last = performance.now();
  }
  return frames;
}"""


def main(passages: int) -> None:
    paper = long_paper(passages)
    began = time.perf_counter()
    page = html_report([paper], generated_at=0)
    wrote = time.perf_counter() - began
    print(f"{passages:,} passages, {len(paper.text):,} characters, {len(paper.sources)} sources")
    print(f"written in {wrote:.2f} s, {len(page.encode()) / 1e6:.1f} MB")
    browser_place = next(filter(None, map(shutil.which, NAMES)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        place = Path(folder) / "report.html"
        place.write_text(page, encoding="utf-8")
        browser = driver.chromium.launch(executable_path=browser_place, args=list(ARGUMENTS))
        ready, frames = [], []
        for _ in range(ROUNDS):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            tab = context.new_page()
            tab.goto(place.as_uri())
            ready.append(tab.evaluate(READY))
            frames += tab.evaluate(SCROLL)
            context.close()
        browser.close()
    print(f"DOM ready: best {min(ready):.0f} ms, median {statistics.median(ready):.0f} ms")
    slow = sum(frame > 50 for frame in frames)
    print(f"scrolling: {len(frames)} frames, median {statistics.median(frames):.1f} ms, "
          f"{slow} longer than 50 ms, longest {max(frames):.0f} ms")  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
