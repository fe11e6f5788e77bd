/* The page: its parts joined, what is chosen, search, keys, light and dark. */

class App {
  constructor(data) {
    this.data = data;
    this.chosen = null;
    this.found = new Set();
    this.folding = new Folding(data);
    this.panel = new Panel(document.getElementById('panel'), this);
    this.view = new View(document.getElementById('graph'), this);
    this.layOut();
    this.memory = new Memory(document.getElementById('memory'), this);
    if (data.tape && data.tape.steps.length) this.player = new Player(document.getElementById('player'), this, data.tape);
    this.search = new Search(document.getElementById('search'), document.getElementById('results'), this);
    this.listen();
    this.view.fit(false);
    this.say(document.getElementById('facts').textContent);
  }

  layOut() {
    this.scene = makeScene(this.folding);
    this.view.show(this.scene);
    this.updateButtons();
  }

  updateButtons() {
    const pressed = { views: this.folding.showViews, leaves: this.folding.showLeaves };
    for (const name in pressed) document.getElementById(name).setAttribute('aria-pressed', String(pressed[name]));
    const foldable = this.folding.groups.size > 0;
    document.getElementById('fold-all').hidden = document.getElementById('unfold-all').hidden = !foldable;
  }

  say(text) { document.getElementById('live').textContent = text; }

  choose(key) {
    this.chosen = key;
    if (key !== null) this.view.touched = true;
    this.panel.show(key);
    const box = key === null ? null : this.scene.byKey.get(key);
    if (box) this.say(box.lines.join(', '));
    this.view.draw();
  }

  showViews(ids) { this.panel.views(ids); }

  /* Fold or unfold a module, and keep it where it is on the screen. */
  toggle(key) {
    const { folding } = this;
    if (!folding.groups.has(key)) return;
    const before = this.placeOf(key);
    if (folding.open.has(key)) folding.open.delete(key);
    else folding.open.add(key);
    this.layOut();
    const after = this.placeOf(key);
    if (before && after) this.view.pan((before[0] - after[0]) * this.view.scale, (before[1] - after[1]) * this.view.scale);
    if (this.player) this.player.mark();
    this.choose(key);
    this.say((folding.open.has(key) ? 'unfolded ' : 'folded ') + key);
  }

  placeOf(key) {
    const box = this.scene.byKey.get(key), container = this.scene.containers.find((each) => each.key === key);
    return box ? [box.x, box.y - box.height / 2] : container ? [container.x + container.width / 2, container.y] : null;
  }

  setAll(open) {
    if (open) for (const key of this.folding.groups.keys()) this.folding.open.add(key);
    else this.folding.open.clear();
    this.layOut();
    if (this.player) this.player.mark();
    this.choose(null);
    this.view.fit(false);
  }

  /* Show a node or leaf wherever it is hidden, and choose it. */
  reveal(id) {
    if (this.folding.shownAs(id) !== id || this.folding.isQuiet(id) || !this.scene.byKey.has(id)) {
      this.folding.reveal(id);
      this.layOut();
      if (this.player) this.player.mark();
    }
    this.choose(id);
    const box = this.scene.byKey.get(id);
    if (box) this.view.centre(box);
  }

  listen() {
    const on = (id, action) => document.getElementById(id).addEventListener('click', action);
    on('zoom-in', () => this.view.zoom(1.3));
    on('zoom-out', () => this.view.zoom(1 / 1.3));
    on('fit', () => this.view.fit(true));
    on('fold-all', () => this.setAll(false));
    on('unfold-all', () => this.setAll(true));
    on('views', () => { this.folding.showViews = !this.folding.showViews; this.layOut(); });
    on('leaves', () => { this.folding.showLeaves = !this.folding.showLeaves; this.layOut(); });
    on('theme', () => {
      const dark = getComputedStyle(document.documentElement).colorScheme.includes('dark') && matchMedia('(prefers-color-scheme: dark)').matches;
      const now = document.documentElement.dataset.theme || (dark ? 'dark' : 'light');
      document.documentElement.dataset.theme = now === 'dark' ? 'light' : 'dark';
    });
    document.addEventListener('keydown', (event) => this.key(event));
    window.addEventListener('beforeprint', () => {
      if (this.scene.boxes.length < 3000) { this.view.fit(true); this.view.drawNow(true); }
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key === 'Escape') { this.search.close(); this.choose(null); this.view.svg.focus(); return; }
    if (typing) return;
    if (event.key === '/') { event.preventDefault(); this.search.input.focus(); return; }
    const onGraph = event.target === this.view.svg || event.target === document.body;
    const arrows = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };
    if (onGraph && arrows[event.key]) {
      event.preventDefault();
      if (event.shiftKey) {
        const step = { up: [0, 60], down: [0, -60], left: [60, 0], right: [-60, 0] }[arrows[event.key]];
        return this.view.pan(...step);
      }
      const next = this.view.neighbour(arrows[event.key]);
      if (next) { this.choose(next.key); this.view.keepInSight(next); }
      return;
    }
    const actions = {
      '+': () => this.view.zoom(1.3), '=': () => this.view.zoom(1.3), '-': () => this.view.zoom(1 / 1.3), 0: () => this.view.fit(true),
      '.': () => this.player && this.player.go(this.player.at + 1), ',': () => this.player && this.player.go(this.player.at - 1),
    };
    if (onGraph) {
      actions.Enter = () => this.chosen !== null && this.toggle(this.folding.groups.has(this.chosen) ? this.chosen : this.folding.parents[this.chosen]);
      actions[' '] = () => this.player && this.player.toggle();
    }
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  }
}

class Search {
  constructor(input, results, app) {
    this.input = input;
    this.results = results;
    this.app = app;
    input.addEventListener('input', () => this.look());
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && this.matches && this.matches.length) {
        this.at = (this.at + (event.shiftKey ? this.matches.length - 1 : 1)) % this.matches.length;
        app.reveal(this.matches[this.at][0]);
      } else if (event.key === 'ArrowDown' && results.querySelector('button')) {
        event.preventDefault();
        results.querySelector('button').focus();
      }
    });
    results.addEventListener('keydown', (event) => this.walk(event));
    document.addEventListener('pointerdown', (event) => { if (!event.target.closest('.search')) this.close(); });
  }

  /* Arrows go through what was found, and from the first one back to the words. */
  walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...this.results.querySelectorAll('button')], at = buttons.indexOf(document.activeElement) + step;
    if (at < 0) this.input.focus();
    else if (at < buttons.length) buttons[at].focus();
  }

  textOf(id) {
    const { data } = this.app;
    if (id >= data.nodes.length) return (data.leaves[id - data.nodes.length].name || 'leaf') + '  leaf';
    const node = data.nodes[id];
    const module = node.module === null ? '' : `  ${data.modules[node.module].path} ${data.modules[node.module].class_name}`;
    return `${node.name}${module}` + (node.line === null ? '' : '  ' + data.lines[node.line].text);
  }

  look() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean), { data, folding } = this.app;
    this.matches = [];
    this.at = -1;
    if (words.length)
      for (let id = 0; id < data.nodes.length + data.leaves.length; id++) {
        const text = this.textOf(id);
        if (words.every((word) => text.toLowerCase().includes(word))) this.matches.push([id, text]);
      }
    this.app.found = new Set(this.matches.map(([id]) => folding.shownAs(id)));
    this.results.replaceChildren(...this.matches.slice(0, 30).map(([id, text]) =>
      element('li', {}, element('button', { type: 'button', onclick: () => { this.app.reveal(id); this.close(); this.app.view.svg.focus(); } }, short(text, 90)))));
    if (words.length) this.results.append(element('li', { class: 'count' }, `${this.matches.length.toLocaleString('en')} found`));
    this.results.hidden = !words.length;
    this.app.view.draw();
  }

  close() { this.results.hidden = true; }
}

window.taperGraph = new App(JSON.parse(document.getElementById('data').textContent));
