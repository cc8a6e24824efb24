"use strict";
// Everything works without it: it adds dropping of files, a count, a word while the server works, and
// changes the appearance without loading the page again.
(() => {
  const form = document.querySelector("form.check");
  if (form) checking(form);

  function checking(form) {
    const text = form.querySelector("#text"), file = form.querySelector("#file");
    const sheet = form.querySelector(".sheet"), counted = form.querySelector(".counted");
    const wrong = form.querySelector(".wrong"), remove = form.querySelector(".drop-files");
    const button = form.querySelector("button.main"), said = button.textContent;

    function tell() {
      const count = Array.from(text.value.trim()).length;
      counted.textContent = count ? form.dataset.characters.replace("{}", count.toLocaleString("en")) : "";
      remove.hidden = !file.files.length;
      wrong.hidden = true;
    }
    function complain(words) {
      wrong.textContent = words;
      wrong.hidden = false;
    }
    text.addEventListener("input", tell);
    file.addEventListener("change", tell);
    remove.addEventListener("click", () => {
      file.value = "";
      tell();
      file.focus();
    });
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });

    // A file or a text may be dropped anywhere on the page.
    let inside = 0;
    const carries = ({ dataTransfer }) => [...dataTransfer.types].some((type) => type === "Files" || type === "text/plain");
    const leave = () => {
      inside = 0;
      sheet.classList.remove("dragged");
    };
    addEventListener("dragenter", (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      inside += 1;
      sheet.classList.add("dragged");
    });
    addEventListener("dragleave", () => {
      inside -= 1;
      if (inside <= 0) leave();
    });
    addEventListener("dragover", (event) => {
      if (carries(event)) event.preventDefault();
    });
    addEventListener("drop", (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      leave();
      if (event.dataTransfer.files.length) {
        file.files = event.dataTransfer.files;
        button.focus();
      } else {
        text.value = event.dataTransfer.getData("text/plain");
        text.focus();
      }
      tell();
    });

    form.addEventListener("submit", (event) => {
      const bytes = [...file.files].reduce((sum, one) => sum + one.size, new Blob([text.value]).size);
      if (bytes > Number(form.dataset.mostBytes)) {
        event.preventDefault();
        complain(form.dataset.tooLarge);
      } else if (button.getAttribute("aria-busy") === "true") {
        event.preventDefault();
      } else {
        button.textContent = form.dataset.checking;
        button.setAttribute("aria-busy", "true");
      }
    });
    // Also when the browser comes back to the page as it was.
    addEventListener("pageshow", () => {
      button.textContent = said;
      button.removeAttribute("aria-busy");
      tell();
    });
  }

  const print = document.querySelector("button.print");
  if (print) {
    print.hidden = false;
    print.addEventListener("click", () => window.print());
  }
})();
