/* The picture on the screen: drawing what is in sight, zoom, pan, choosing a box by pointer or keys.
 * Only boxes in sight are elements of the page, so that ten thousand of them stay usable; if very many
 * are in sight at once, they are drawn without text. */

const SVG = 'http://www.w3.org/2000/svg', MOST_WITH_TEXT = 700, MOST_LEAVING = 40, MOST_PLAIN = 2500;

function svgElement(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (parent) parent.appendChild(element);
  return element;
}

class View {
  constructor(svg, app) {
    this.svg = svg;
    this.app = app;
    this.scale = 1;
    this.x = this.y = 0; // the place of the scene's origin on the screen
    this.marks = { done: new Set(), now: null, hot: new Map(), path: new Set() };
    this.pointers = new Map();
    this.root = svgElement('g', {}, svg);
    this.listen();
  }

  show(scene) {
    this.scene = scene;
    this.draw();
  }

  size() {
    const box = this.svg.getBoundingClientRect();
    return [box.width || 800, box.height || 600];
  }

  /* Fit the scene: whole if that is readable, else its beginning at a readable size. */
  fit(whole) {
    const [width, height] = this.size(), { scene } = this;
    const both = Math.min((width - 24) / Math.max(scene.width, 1), (height - 24) / Math.max(scene.height, 1), 1.25);
    const readable = Math.min(1, Math.max(0.62, (width - 24) / Math.max(scene.width, 1)));
    this.scale = whole ? both : Math.max(both, readable);
    this.x = (width - scene.width * this.scale) / 2;
    this.y = Math.max(12, (height - scene.height * this.scale) / 2);
    if (scene.height * this.scale > height - 12) this.y = 12;
    if (!whole && scene.boxes.length) this.centreTop(width, height);
    this.draw();
  }

  /* What is in sight at the beginning is in the middle; if it is too wide, its first box is. */
  centreTop(width, height) {
    const { scene } = this, seen = scene.boxes.filter((box) => box.y * this.scale < height);
    const left = Math.min(...seen.map((box) => box.x - box.width / 2)), right = Math.max(...seen.map((box) => box.x + box.width / 2));
    const first = scene.boxes.reduce((best, box) => (box.y < best.y ? box : best), scene.boxes[0]);
    const middle = (right - left) * this.scale > width - 12 ? first.x : (left + right) / 2;
    this.x = width / 2 - middle * this.scale;
  }

  centre(box) {
    const [width, height] = this.size();
    if (this.scale < 0.5) this.scale = 0.9;
    this.x = width / 2 - box.x * this.scale;
    this.y = height / 2 - box.y * this.scale;
    this.draw();
  }

  /* Move as little as needed to have a box in sight. */
  keepInSight(box) {
    const [width, height] = this.size();
    const x = box.x * this.scale + this.x, y = box.y * this.scale + this.y, margin = 60;
    if (x > margin && x < width - margin && y > margin && y < height - margin) return this.draw();
    this.centre(box);
  }

  zoom(factor, atX, atY) {
    const [width, height] = this.size();
    if (atX === undefined) [atX, atY] = [width / 2, height / 2];
    const scale = Math.min(4, Math.max(0.005, this.scale * factor));
    this.x = atX - ((atX - this.x) * scale) / this.scale;
    this.y = atY - ((atY - this.y) * scale) / this.scale;
    this.scale = scale;
    this.touched = true;
    this.draw();
  }

  pan(dx, dy) {
    this.touched = true;
    this.x += dx;
    this.y += dy;
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.drawNow(); });
  }

  drawNow(everything) {
    const { scene } = this;
    if (!scene) return;
    const [width, height] = this.size(), margin = 80 / this.scale;
    const left = -this.x / this.scale - margin, right = (width - this.x) / this.scale + margin;
    const top = -this.y / this.scale - margin, bottom = (height - this.y) / this.scale + margin;
    const inSight = (x, y, w, h) => everything || (x + w > left && x < right && y + h > top && y < bottom);
    const boxes = scene.boxes.filter((box) => inSight(box.x - box.width / 2, box.y - box.height / 2, box.width, box.height));
    const plain = boxes.length > MOST_WITH_TEXT && !everything;
    const group = svgElement('g', { transform: `translate(${this.x} ${this.y}) scale(${this.scale})` });
    for (const each of scene.containers)
      if (inSight(each.x, each.y, each.width, each.height)) this.drawContainer(each, group, everything ? -Infinity : top - margin, everything ? Infinity : bottom + margin);
    const titles = scene.containers.filter((each) => inSight(each.x, each.y, each.width, each.height));
    const lines = svgElement('g', { class: 'lines' }, group);
    const shown = new Set(boxes.map((box) => box.key));
    const visible = scene.lines.filter(({ extent }) => inSight(extent[0], extent[1], extent[2] - extent[0], extent[3] - extent[1]));
    if (plain) this.drawPlainly(boxes, visible, group);
    else {
      const leaving = new Map(); // lines out of sight by the box that they leave: a hub has thousands
      for (const line of visible) {
        const from = shown.has(line.from), to = shown.has(line.to);
        if (!everything && !(from && to)) {
          const key = from ? line.from : to ? line.to : null;
          leaving.set(key, (leaving.get(key) || 0) + 1);
          if (leaving.get(key) > MOST_LEAVING) continue;
          if (line.extent[3] - line.extent[1] > 20 * (bottom - top)) { // painting its whole length is slow
            const [x, y] = line.points[from ? 0 : line.points.length - 1], end = y + (from ? 1 : -1) * (bottom - top);
            if (key !== null) svgElement('path', { d: `M${x} ${y}L${x} ${end}`, class: 'wire back' }, lines);
            continue;
          }
        }
        this.drawLine(line, lines);
      }
      for (const each of titles) this.drawTitle(each, group); // above the lines that pass
      for (const box of boxes) this.drawBox(box, group);
    }
    this.root.replaceWith(group);
    this.root = group;
  }

  /* Very many boxes at once: a sample of them as one shape for each kind, and lines as strokes. */
  drawPlainly(boxes, lines, parent) {
    const every = (items) => { const step = Math.ceil(items.length / MOST_PLAIN); return items.filter((_, i) => i % step === 0); };
    const kinds = new Map(), thick = Math.max(1.2, 1 / this.scale);
    for (const box of every(boxes)) {
      const height = Math.max(box.height, 2 * thick);
      kinds.set(box.kind, (kinds.get(box.kind) || '') + `M${box.x - box.width / 2} ${box.y - height / 2}h${box.width}v${height}h${-box.width}z`);
    }
    const strokes = every(lines).map(({ points }) => `M${points[0].join(' ')}L${points[points.length - 1].join(' ')}`).join('');
    svgElement('path', { d: strokes, class: 'wire', style: `stroke-width:${thick / 2}` }, parent);
    for (const [kind, d] of kinds) svgElement('path', { d, class: 'plain ' + kind }, svgElement('g', { class: 'box ' + kind }, parent));
  }

  /* The dashes of a border are slow to paint if it is long: only the part in sight is drawn. */
  drawContainer(each, parent, top, bottom) {
    const y = Math.max(each.y, top - 10), end = Math.min(each.y + each.height, bottom + 10);
    const group = svgElement('g', { class: 'container depth' + (each.group.depth % 3) }, parent);
    svgElement('rect', { x: each.x, y, width: each.width, height: Math.max(0, end - y), rx: 8 }, group);
  }

  drawTitle(each, parent) {
    const group = svgElement('g', { class: 'container' }, parent);
    const title = svgElement('text', { x: each.x + 12, y: each.y + 19, 'data-fold': each.key }, group);
    title.textContent = '▾ ' + short(each.group.label, 40);
    const kind = svgElement('tspan', { class: 'kind', dx: 8 }, title);
    kind.textContent = each.group.kindText;
  }

  drawLine(line, parent) {
    const active = this.marks.now !== null && (line.from === this.marks.now || line.to === this.marks.now);
    const hot = this.marks.path.has(line.from) && this.marks.path.has(line.to);
    const chosen = this.app.chosen !== null && (line.from === this.app.chosen || line.to === this.app.chosen);
    const kind = (line.back ? ' back' : '') + (hot ? ' hot' : '') + (active || chosen ? ' active' : '');
    svgElement('path', { d: pathOf(line), class: 'wire' + kind, 'marker-end': `url(#tip${hot ? '-hot' : active || chosen ? '-active' : ''})` }, parent);
    if (!line.views.length) return;
    const length = (i) => Math.hypot(line.points[i][0] - line.points[i - 1][0], line.points[i][1] - line.points[i - 1][1]);
    let longest = 1; // a curve between two points passes the middle between them
    for (let i = 2; i < line.points.length; i++) if (length(i) > length(longest)) longest = i;
    const [a, b] = [line.points[longest - 1], line.points[longest]];
    const dot = svgElement('circle', { cx: (a[0] + b[0]) / 2, cy: (a[1] + b[1]) / 2, r: 4, class: 'views', 'data-views': line.views.join(' ') }, parent);
    const title = svgElement('title', {}, dot);
    title.textContent = line.views.map((id) => this.app.data.nodes[id].name).join(', ');
  }

  drawBox(box, parent) {
    let kind = 'box ' + box.kind;
    if (this.app.chosen === box.key) kind += ' chosen';
    if (this.app.found.has(box.key)) kind += ' found';
    if (this.marks.now === box.key) kind += ' now';
    else if (this.marks.done.has(box.key)) kind += ' done';
    if (this.marks.path.has(box.key)) kind += ' hot';
    const group = svgElement('g', { class: kind, 'data-key': String(box.key) }, parent);
    const x = box.x - box.width / 2, y = box.y - box.height / 2;
    if (box.kind.startsWith('group'))
      svgElement('rect', { class: 'behind', x: x + 4, y: y + 4, width: box.width, height: box.height, rx: 7 }, group);
    svgElement('rect', { x, y, width: box.width, height: box.height, rx: box.kind === 'leaf' || box.kind === 'input' ? box.height / 2 : 7 }, group);
    const heat = this.marks.hot.get(box.key);
    if (heat) svgElement('rect', { class: 'heat', x, y: y + box.height - 4, width: box.width * heat, height: 4, rx: 2 }, group);
    if (this.scale < 0.16) return;
    box.lines.forEach((line, i) => {
      const text = svgElement('text', { x: box.x, y: y + 19 + 16 * i, class: i ? 'detail' : 'name' }, group);
      text.textContent = line;
    });
  }

  listen() {
    const { svg } = this;
    svg.addEventListener('wheel', (event) => {
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      const step = event.deltaMode === 1 ? 16 : 1;
      if (event.shiftKey) this.pan(-event.deltaY * step, 0);
      else this.zoom(Math.exp(-event.deltaY * step * 0.0016), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    svg.addEventListener('pointerdown', (event) => {
      this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
      this.moved = 0;
    });
    svg.addEventListener('pointermove', (event) => this.drag(event));
    const end = (event) => {
      if (this.pointers.delete(event.pointerId) && event.type === 'pointerup' && this.moved < 6) this.click(event);
    };
    for (const name of ['pointerup', 'pointercancel', 'pointerleave']) svg.addEventListener(name, end);
    svg.addEventListener('dblclick', (event) => {
      const box = event.target.closest('[data-key]');
      if (box) this.app.toggle(this.keyOf(box));
    });
    new ResizeObserver(() => { // what was in the middle stays there
      const width = this.size()[0];
      if (!this.touched && this.scene) this.fit(false);
      else if (this.width) this.x += (width - this.width) / 2;
      this.width = width;
      this.draw();
    }).observe(svg);
  }

  drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY], others = [...this.pointers].filter(([id]) => id !== event.pointerId);
    if (others.length === 1) {
      const [, other] = others[0], box = this.svg.getBoundingClientRect();
      const distance = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      this.zoom(distance(now) / distance(before), other[0] - box.left, other[1] - box.top);
    } else if (!others.length) this.pan(now[0] - before[0], now[1] - before[1]);
    this.moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    this.pointers.set(event.pointerId, now);
  }

  keyOf(element) {
    const key = element.dataset.key;
    return /^\d+$/.test(key) ? Number(key) : key;
  }

  click(event) {
    const fold = event.target.closest('[data-fold]'), views = event.target.closest('[data-views]');
    const box = event.target.closest('[data-key]');
    this.svg.focus({ preventScroll: true });
    if (fold) this.app.toggle(fold.dataset.fold);
    else if (views) this.app.showViews(views.dataset.views.split(' ').map(Number));
    else if (box) this.app.choose(this.keyOf(box));
    else this.app.choose(null);
  }

  /* The next box in a direction, from the chosen one: along lines, or beside it. */
  neighbour(direction) {
    const { scene } = this, chosen = scene.byKey.get(this.app.chosen);
    if (!chosen) return scene.boxes.reduce((best, box) => (box.y < best.y ? box : best), scene.boxes[0]);
    if (direction === 'up' || direction === 'down') {
      const ends = scene.lines.filter((line) => (direction === 'up' ? line.to : line.from) === chosen.key)
        .map((line) => scene.byKey.get(direction === 'up' ? line.from : line.to));
      return ends.sort((a, b) => Math.abs(a.x - chosen.x) - Math.abs(b.x - chosen.x))[0];
    }
    const sign = direction === 'left' ? -1 : 1;
    return scene.boxes.filter((box) => sign * (box.x - chosen.x) > 1)
      .sort((a, b) => Math.abs(a.y - chosen.y) * 4 + Math.abs(a.x - chosen.x) - Math.abs(b.y - chosen.y) * 4 - Math.abs(b.x - chosen.x))[0];
  }
}
