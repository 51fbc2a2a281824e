// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Shows one slide, whose number the address keeps. Without this script, and on paper, all slides follow each other.
const slides = [...document.querySelectorAll('section')];
const place = document.getElementById('place');
const steps = {ArrowRight: 1, ArrowDown: 1, PageDown: 1, ' ': 1, Enter: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1,
               Home: -slides.length, End: slides.length};
let at = (parseInt(location.hash.slice(1), 10) || 1) - 1;

function go(by) {
  at = Math.min(slides.length - 1, Math.max(0, at + by));
  slides.forEach((slide, index) => slide.classList.toggle('shown', index === at));
  place.textContent = `${at + 1} / ${slides.length}`;
  history.replaceState(null, '', `#${at + 1}`);
}

addEventListener('keydown', (event) => {
  if (!(event.key in steps)) return;
  event.preventDefault();
  go(steps[event.key]);
});
addEventListener('click', (event) => go(event.clientX < innerWidth / 3 ? -1 : 1));
document.body.classList.add('one');
go(0);
