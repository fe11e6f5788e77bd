/* Which boxes are seen: modules folded or open, views inside their lines, parameters inside folded
 * modules.  Owns the tree of groups and the picture (boxes, lines, containers) for a state of it. */

const MOST_OPEN = 60;

class Folding {
  constructor(data) {
    this.data = data;
    this.open = new Set();
    this.classes = new Map(data.modules.map((each) => [each.path, each.class_name]));
    this.showViews = false;
    this.showLeaves = true;
    this.groups = new Map(); // key -> {key, parent, children, label, kind, count, first, bytes}
    this.parents = new Array(data.nodes.length + data.leaves.length).fill(null);
    data.nodes.forEach((node, id) => { this.parents[id] = this.groupOf(node); });
    this.dropSmallGroups();
    if (this.topLevel() > MOST_OPEN) this.groupByLine();
    this.sumUp();
    this.adoptLeaves();
    this.openAsFits();
  }

  groupOf(node) {
    if (node.module === null) return null;
    const path = this.data.modules[node.module].path;
    if (!path) return null;
    let parent = null, key = '';
    for (const part of path.split('.')) {
      key = key ? key + '.' + part : part;
      if (!this.groups.has(key)) {
        this.addGroup(key, parent, key, this.classes.get(key) || '', 'module');
      }
      parent = key;
    }
    return key;
  }

  /* A module that recorded one node needs no box around it: the node says whose it is. */
  dropSmallGroups() {
    const loud = new Map();
    this.parents.forEach((_, id) => {
      if (id >= this.data.nodes.length || this.isQuiet(id)) return;
      for (let key = this.parents[id]; key !== null; key = this.groups.get(key).parent) loud.set(key, (loud.get(key) || 0) + 1);
    });
    const kept = (key) => { while (key !== null && (loud.get(key) || 0) < 2) key = this.groups.get(key).parent; return key; };
    this.parents = this.parents.map((key) => (key === null ? null : kept(key)));
    for (const [key, group] of [...this.groups]) {
      if ((loud.get(key) || 0) < 2) this.groups.delete(key);
      else group.parent = group.parent === null ? null : kept(group.parent);
    }
  }

  addGroup(key, parent, label, kindText, kind) {
    this.groups.set(key, { key, parent, label, kindText, kind, count: 0, first: Infinity, bytes: 0, depth: parent ? this.groups.get(parent).depth + 1 : 0 });
  }

  topLevel() {
    return this.parents.filter((key, id) => key === null && id < this.data.nodes.length && !this.isQuiet(id)).length +
      [...this.groups.values()].filter((group) => !group.parent).length;
  }

  /* Without modules to fold, the nodes of one line of the program are a group. */
  groupByLine() {
    const counts = new Map();
    this.data.nodes.forEach((node, id) => {
      if (this.parents[id] === null && node.line !== null)
        counts.set(node.line, (counts.get(node.line) || 0) + 1);
    });
    this.data.nodes.forEach((node, id) => {
      if (this.parents[id] !== null || node.line === null || counts.get(node.line) < 3) return;
      const line = this.data.lines[node.line], key = 'line ' + node.line;
      if (!this.groups.has(key))
        this.addGroup(key, null, line.text || 'line ' + line.number, fileName(line.file) + ':' + line.number, 'line');
      this.parents[id] = key;
    });
  }

  sumUp() {
    const counted = new Set();
    this.data.nodes.forEach((node, id) => {
      let bytes = 0;
      for (const saved of node.saved) {
        if (saved.storage === null || counted.has(saved.storage)) continue;
        counted.add(saved.storage);
        const storage = this.data.storages[saved.storage];
        if (storage.leaf === null) bytes += storage.bytes;
      }
      node.bytes = bytes;
      for (let key = this.parents[id]; key !== null; key = this.groups.get(key).parent) {
        const group = this.groups.get(key);
        group.count += node.count || 1;
        group.bytes += bytes;
        group.first = Math.min(group.first, id);
      }
    });
  }

  /* A leaf belongs to the innermost group that holds all of its users. */
  adoptLeaves() {
    const common = new Map();
    for (const [source, , target] of this.data.edges) {
      if (source < this.data.nodes.length) continue;
      const chain = this.chain(target), known = common.get(source);
      common.set(source, known === undefined ? chain : known.filter((key, i) => chain[i] === key));
    }
    for (const [id, keys] of common) this.parents[id] = keys.length ? keys[keys.length - 1] : null;
  }

  /* The groups around something, outermost first. */
  chain(id) {
    const keys = [];
    for (let key = this.parents[id]; key !== null && key !== undefined; key = this.groups.get(key).parent) keys.push(key);
    return keys.reverse();
  }

  /* Open level after level while the picture stays readable. */
  openAsFits() {
    const deepest = Math.max(-1, ...[...this.groups.values()].map((group) => group.depth));
    const loud = this.data.nodes.filter((_, id) => !this.isQuiet(id)).length;
    if (loud <= MOST_OPEN) { for (const key of this.groups.keys()) this.open.add(key); return; }
    for (let depth = 0; depth <= deepest; depth++) {
      const level = [...this.groups.values()].filter((group) => group.depth === depth);
      level.forEach((group) => this.open.add(group.key));
      if (this.visibleCount() > MOST_OPEN) { level.forEach((group) => this.open.delete(group.key)); return; }
    }
  }

  visibleCount() {
    const seen = new Set();
    this.data.nodes.forEach((_, id) => { if (!this.isQuiet(id)) seen.add(this.shownAs(id)); });
    return seen.size;
  }

  isQuiet(id) {
    return !this.showViews && id < this.data.nodes.length && this.data.nodes[id].quiet;
  }

  /* What stands for a node or leaf: itself, or the outermost folded group around it. */
  shownAs(id) {
    for (const key of this.chain(id)) if (!this.open.has(key)) return key;
    return id;
  }

  reveal(id) {
    for (const key of this.chain(id)) this.open.add(key);
    if (this.isQuiet(id)) this.showViews = true;
    if (id >= this.data.nodes.length) this.showLeaves = true;
  }

  /* The boxes and lines to draw: {boxes: Map(box -> {...}), lines: [{from, to, views, edges}]}. */
  picture() {
    const { data } = this, total = data.nodes.length + data.leaves.length;
    const boxes = new Map(), lines = new Map();
    const through = new Map(); // a quiet node -> what feeds it: [source, [quiet nodes]]
    const box = (id) => {
      const shown = this.shownAs(id);
      if (!boxes.has(shown)) boxes.set(shown, { key: shown, first: id });
      else boxes.get(shown).first = Math.min(boxes.get(shown).first, id);
      return shown;
    };
    for (let id = 0; id < data.nodes.length; id++)
      if (!this.isQuiet(id)) box(id);
    const feeds = (source) => {
      if (source < data.nodes.length && this.isQuiet(source) && through.has(source)) {
        const [origin, views] = through.get(source);
        return [origin, views];
      }
      return [source, []];
    };
    for (const [source, , target] of data.edges) {
      const [origin, views] = feeds(source);
      if (this.isQuiet(target)) {
        if (!through.has(target)) through.set(target, [origin, views.concat(target)]);
        continue;
      }
      if (origin >= data.nodes.length && !this.showLeaves) continue;
      this.connect(lines, box(origin), box(target), views, origin, target);
    }
    data.outputs.forEach((output, i) => {
      const [origin, views] = feeds(output.source);
      const key = 'out ' + i;
      boxes.set(key, { key, first: total + i, output });
      this.connect(lines, box(origin), key, views, origin, key);
    });
    if (this.showLeaves)
      data.inputs.forEach((input, i) => {
        const users = [...new Set(input.users.map((id) => this.shownAs(id)))].filter((key) => boxes.has(key));
        if (!users.length) return;
        const key = 'in ' + i;
        boxes.set(key, { key, first: -1, input });
        for (const user of users) this.connect(lines, key, user, [], key, user);
      });
    return { boxes, lines: [...lines.values()] };
  }

  connect(lines, from, to, views, source, target) {
    if (from === to) return;
    const key = from + '→' + to;
    if (!lines.has(key)) lines.set(key, { from, to, views: [], count: 0 });
    const line = lines.get(key);
    line.count++;
    for (const view of views) if (!line.views.includes(view)) line.views.push(view);
  }
}

function fileName(path) { return path.split(/[\\/]/).pop(); }
