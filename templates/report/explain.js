// Lines of the kernel's C and of the CUDA made of it belong together where their data-l is the same, within an
// article.  A click or Enter chooses a line: its partners light up and come into view, the address gets the anchor.
// Arrow keys walk from line to line, left and right change sides, Escape lets go.
"use strict";
(function () {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const all = (root, what) => Array.from(root.querySelectorAll(what));
    const home = (el) => el.closest("article");
    const partners = (li) => all(home(li), ".pane li").filter((x) => x.dataset.l && x.dataset.l === li.dataset.l);
    const pane = (el) => el.closest(".pane");

    function show(el) {
        const box = el.closest(".pane, .pictures");
        if (!box || box.scrollHeight <= box.clientHeight) {
            return; // what is not in a pane of its own stays where the reader left it
        }
        const top = el.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
        box.scrollTo({top: top - box.clientHeight / 3, behavior: calm ? "auto" : "smooth"});
    }

    function clear(name) {
        all(document, "." + name).forEach((x) => {
            x.classList.remove(name);
            x.removeAttribute("aria-current");
        });
    }

    function choose(li) {
        clear("on");
        const lines = partners(li);
        lines.forEach((x) => {
            x.classList.add("on");
            x.setAttribute("aria-current", "true");
        });
        const other = lines.find((x) => pane(x) !== pane(li));
        if (other) {
            show(other);
        }
        const figures = all(home(li), "figure").filter((x) => x.dataset.l === li.dataset.l);
        figures.forEach((x) => x.classList.add("on"));
        if (figures.length) {
            show(figures[0]);
        }
    }

    function remember(li) {
        history.replaceState(null, "", "#" + li.id);
        choose(li);
    }

    function follow() {
        const el = document.getElementById(decodeURIComponent(location.hash.slice(1)));
        if (el && el.dataset.l && pane(el)) {
            choose(el);
            show(el);
        }
    }

    document.addEventListener("mouseover", (event) => {
        const li = event.target.closest(".pane li[data-l]");
        clear("lit");
        if (li) {
            partners(li).forEach((x) => x.classList.add("lit"));
        }
    });

    document.addEventListener("click", (event) => {
        const li = event.target.closest(".pane li[data-l]");
        if (li && !event.target.closest("a") && !String(getSelection())) {
            remember(li);
        }
    });

    function step(li, key) {
        if (key === "ArrowLeft" || key === "ArrowRight") {
            return partners(li).find((x) => pane(x) !== pane(li));
        }
        const lines = all(pane(li), "li[data-l]");
        return lines[lines.indexOf(li) + (key === "ArrowDown" ? 1 : -1)];
    }

    document.addEventListener("keydown", (event) => {
        const li = event.target.closest(".pane li[data-l]");
        if (event.key === "Escape") {
            clear("on");
        } else if (li && event.key.startsWith("Arrow") && !event.ctrlKey && !event.metaKey && !event.altKey) {
            const next = step(li, event.key);
            if (next) {
                event.preventDefault();
                next.querySelector("a").focus({preventScroll: true});
                show(next);
                remember(next);
            }
        }
    });

    addEventListener("hashchange", follow);
    follow();
})();
