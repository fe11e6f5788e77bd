/* A recorded backward pass, played over the graph step by step, forwards and backwards.
 * A tape is {steps: [{node, order, inputs, outputs, seconds, freed, arithmetic}]}. */

class Player {
  constructor(root, app, tape) {
    this.root = root;
    this.app = app;
    this.steps = tape.steps;
    this.at = -1;
    this.timer = null;
    this.byNode = new Map();
    this.steps.forEach((step, i) => this.byNode.set(step.node, [...(this.byNode.get(step.node) || []), i]));
    const button = (label, text, action) => element('button', { type: 'button', 'aria-label': label, title: label, onclick: action }, text);
    this.slider = element('input', { type: 'range', min: -1, max: this.steps.length - 1, value: -1, 'aria-label': 'Step of the backward pass', oninput: () => this.go(Number(this.slider.value)) });
    this.playButton = button('Play', '▶', () => this.toggle());
    this.status = element('output', { class: 'status', 'aria-live': 'polite' });
    this.hot = element('button', { type: 'button', 'aria-pressed': 'false', onclick: () => this.toggleHot() }, 'Hot path');
    root.replaceChildren(button('To the start', '«', () => this.go(-1)), button('Step back', '‹', () => this.go(this.at - 1)),
      this.playButton, button('Step on', '›', () => this.go(this.at + 1)), this.slider, this.status, this.timed() ? this.hot : '');
    root.hidden = false;
    this.heat();
    this.tell();
  }

  timed() { return this.steps.some((step) => step.seconds > 0); }

  /* The share of the slowest box that each shown box took. */
  heat() {
    const sums = new Map();
    for (const step of this.steps) {
      if (step.node === null || step.node === undefined) continue;
      const key = this.app.folding.shownAs(step.node);
      sums.set(key, (sums.get(key) || 0) + timeOf(step));
    }
    const most = Math.max(...sums.values(), 0);
    const on = this.hot.getAttribute('aria-pressed') === 'true';
    this.app.view.marks.hot = new Map(!on ? [] : [...sums].map(([key, seconds]) => [key, most ? seconds / most : 0]));
  }

  toggleHot() {
    const on = this.hot.getAttribute('aria-pressed') !== 'true';
    this.hot.setAttribute('aria-pressed', String(on));
    this.hotIds = on ? this.hotPath() : [];
    this.mark();
    if (on && this.hotIds.length) {
      this.status.textContent = this.hotText();
      const slow = this.hotIds.slice().sort((a, b) => this.secondsOf(b) - this.secondsOf(a))[0];
      this.app.choose(this.app.folding.shownAs(slow));
    }
  }

  /* How much of the measured time is on the hot path. */
  hotText() {
    const sum = (ids, part) => ids.reduce((total, id) => total + (this.byNode.get(id) || []).reduce((all, i) => all + (this.steps[i][part] || 0), 0), 0);
    const all = this.steps.reduce((total, step) => total + timeOf(step), 0), forward = sum(this.hotIds, 'forward');
    const path = sum(this.hotIds, 'seconds') + forward, share = all ? Math.round((100 * path) / all) : 0;
    return `hot path: ${timeText(path)} of ${timeText(all)} (${share} %)` + (forward ? `, forward ${timeText(forward)}` : ', backward only');
  }

  secondsOf(id) { return (this.byNode.get(id) || []).reduce((sum, i) => sum + timeOf(this.steps[i]), 0); }

  /* The way from a leaf to an output that took longest. */
  hotPath() {
    const { data } = this.app, best = new Map(), before = new Map();
    for (let id = 0; id < data.nodes.length; id++) best.set(id, this.secondsOf(id));
    for (const [source, , target] of data.edges) { // in the order of targets, so sources are final
      const way = (best.get(source) || 0) + this.secondsOf(target);
      if (source < data.nodes.length && way > best.get(target)) { best.set(target, way); before.set(target, source); }
    }
    let id = data.outputs.map((output) => output.source).sort((a, b) => best.get(b) - best.get(a))[0];
    const path = [];
    while (id !== undefined) { path.push(id); id = before.get(id); }
    return path;
  }

  toggle() {
    if (this.timer) return this.stop();
    if (this.at >= this.steps.length - 1) this.go(-1);
    const pause = Math.max(60, Math.min(900, 12000 / this.steps.length));
    this.timer = setInterval(() => { if (this.at >= this.steps.length - 1) this.stop(); else this.go(this.at + 1, true); }, pause);
    this.playButton.textContent = '❚❚';
    this.playButton.setAttribute('aria-label', 'Pause');
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.playButton.textContent = '▶';
    this.playButton.setAttribute('aria-label', 'Play');
  }

  go(at, playing) {
    if (!playing && this.timer) this.stop();
    this.at = Math.max(-1, Math.min(this.steps.length - 1, at));
    this.slider.value = this.at;
    this.mark();
    this.tell();
    const step = this.steps[this.at];
    if (!step || step.node === null) return this.app.view.draw();
    const key = this.app.folding.shownAs(step.node), box = this.app.scene.byKey.get(key);
    this.showStep(step);
    if (box) this.app.view.keepInSight(box);
    else this.app.view.draw();
  }

  mark() {
    const { marks } = this.app.view, shown = (id) => this.app.folding.shownAs(id);
    marks.done = new Set(this.steps.slice(0, Math.max(0, this.at)).filter((step) => step.node !== null).map((step) => shown(step.node)));
    const step = this.steps[this.at];
    marks.now = step && step.node !== null ? shown(step.node) : null;
    marks.path = new Set((this.hotIds || []).map(shown));
    this.heat();
    this.app.view.draw();
  }

  tell() {
    const step = this.steps[this.at], count = this.steps.length;
    this.status.textContent = step ? `step ${this.at + 1} of ${count}: ${this.nameOf(step.node)}` : `${count} steps of backward`;
  }

  nameOf(id) {
    const { data } = this.app;
    if (id === null || id === undefined) return 'a node outside of this graph';
    return id < data.nodes.length ? data.nodes[id].name : (data.leaves[id - data.nodes.length].name || 'leaf') + '.grad';
  }

  showStep(step) {
    this.app.panel.fill(`Step ${this.at + 1}: ${this.nameOf(step.node)}`, this.describe(step),
      element('p', {}, this.app.panel.link(step.node)),
      step.node < this.app.data.nodes.length ? this.app.panel.mathematics(this.app.data.operators[this.app.data.nodes[step.node].about]) : null);
  }

  /* What ran at a node, for its panel. */
  stepsOf(id) {
    return (this.byNode.get(id) || []).slice(0, 3).map((i) => section(`Backward, step ${i + 1}`, this.describe(this.steps[i])));
  }

  /* What the nodes of a group took, for its panel. */
  timesOf(ids) {
    const steps = ids.flatMap((id) => this.byNode.get(id) || []).map((i) => this.steps[i]);
    const backward = steps.reduce((sum, step) => sum + (step.seconds || 0), 0), forward = steps.reduce((sum, step) => sum + (step.forward || 0), 0);
    return steps.length ? section('Time', element('p', { class: 'facts' }, `${timeText(backward)} backward`, forward ? ` · ${timeText(forward)} forward` : '')) : null;
  }

  describe(step) {
    const rows = [...step.inputs.map((each, i) => ['gradient in ' + i, each]), ...step.outputs.map((each, i) => ['gradient out ' + i, each])].filter(([, each]) => each);
    return element('div', { class: 'step' },
      step.arithmetic ? element('pre', { class: 'arithmetic', tabindex: '0' }, step.arithmetic) : null,
      rows.map(([name, each]) => element('figure', {},
        element('figcaption', {}, element('b', {}, name), ` ${each.dtype || ''} ${shapeText(each.shape || [])}`),
        each.values !== null && each.values !== undefined ? valuesOf(each.values) : null,
        element('p', { class: 'facts' }, `min ${numberText(each.min)} · max ${numberText(each.max)} · mean ${numberText(each.mean)} · norm ${numberText(each.norm)}`,
          each.nan ? element('strong', { class: 'bad' }, ` · ${each.nan} NaN`) : ''),
        histogramOf(each.histogram))),
      element('p', { class: 'facts' }, step.seconds ? `${timeText(step.seconds)} backward` : '', step.forward ? ` · ${timeText(step.forward)} forward` : '', step.freed ? ` · ${bytesText(step.freed)} freed` : ''));
  }
}

/* What a step took, with the operation that recorded its node where that was measured. */
function timeOf(step) { return (step.seconds || 0) + (step.forward || 0); }

function timeText(seconds) {
  if (seconds >= 1) return `${numberText(Number(seconds.toPrecision(3)))} s`;
  return seconds >= 1e-3 ? `${Number((seconds * 1e3).toPrecision(3))} ms` : `${Number((seconds * 1e6).toPrecision(3))} µs`;
}

/* Small numbers as a matrix; anything else as text. */
function valuesOf(values) {
  const cell = (value) => (Array.isArray(value) ? '[' + value.map(cell).join(', ') + ']' : numberText(value));
  if (!Array.isArray(values)) return element('p', { class: 'matrix' }, cell(values));
  const rows = values.every(Array.isArray) ? values : [values];
  return element('div', { class: 'scroll' }, element('table', { class: 'matrix' },
    element('tbody', {}, rows.map((row) => element('tr', {}, row.map((value) => element('td', {}, cell(value))))))));
}

function histogramOf(histogram) {
  const counts = Array.isArray(histogram) ? histogram : histogram && histogram.counts;
  if (!counts || !counts.length) return null;
  const most = Math.max(...counts, 1), width = 100 / counts.length;
  const svg = svgElement('svg', { viewBox: '0 0 100 30', class: 'histogram', role: 'img', preserveAspectRatio: 'none' });
  const title = svgElement('title', {}, svg);
  title.textContent = 'histogram: ' + counts.join(', ');
  counts.forEach((count, i) => svgElement('rect', { x: i * width + 0.3, y: 30 - (29 * count) / most, width: width - 0.6, height: (29 * count) / most }, svg));
  return svg;
}
