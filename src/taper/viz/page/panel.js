/* What is known of the chosen box, as words, tables and mathematics.  Text of the program goes into
 * the page as text, never as markup; the mathematics is made from the operator table alone. */

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const key in attributes || {})
    if (key.startsWith('on')) made.addEventListener(key.slice(2), attributes[key]);
    else if (attributes[key] !== null && attributes[key] !== undefined) made.setAttribute(key, attributes[key]);
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== '') made.append(child);
  return made;
}

function table(head, rows, kind) {
  if (!rows.length) return null;
  return element('div', { class: 'scroll' }, element('table', { class: kind || '' },
    element('thead', {}, element('tr', {}, head.map((cell) => element('th', { scope: 'col' }, cell)))),
    element('tbody', {}, rows.map((row) => element('tr', {}, row.map((cell) => element('td', {}, cell)))))));
}

function section(title, ...children) {
  const full = children.flat().filter((child) => child !== null && child !== undefined && child !== '');
  return full.length ? element('section', {}, element('h3', {}, title), full) : null;
}

function numberText(value) {
  if (value === null || value === undefined) return '–';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  return size >= 1e5 || (size && size < 1e-3) ? value.toExponential(3) : String(Number(value.toPrecision(5)));
}

class Panel {
  constructor(root, app) {
    this.root = root;
    this.app = app;
  }

  /* A button that leads to another node or leaf. */
  link(id) {
    const { data } = this.app, leaf = id >= data.nodes.length;
    const label = leaf ? data.leaves[id - data.nodes.length].name || 'leaf' : `${data.nodes[id].name} #${id}`;
    return element('button', { class: 'link', type: 'button', onclick: () => this.app.reveal(id) }, label);
  }

  fill(title, ...children) {
    const close = element('button', { class: 'close', type: 'button', 'aria-label': 'Close', onclick: () => this.app.choose(null) }, '×');
    this.root.replaceChildren(element('header', {}, element('h2', {}, title), close), ...children.flat().filter(Boolean));
    this.root.hidden = false;
  }

  show(key) {
    const { data, folding } = this.app;
    if (key === null) { this.root.hidden = true; return; }
    if (typeof key === 'number') return key < data.nodes.length ? this.node(key) : this.leaf(key);
    if (key.startsWith('out ')) return this.output(data.outputs[Number(key.slice(4))]);
    if (key.startsWith('in ')) return this.input(data.inputs[Number(key.slice(3))]);
    if (folding.groups.has(key)) this.group(folding.groups.get(key));
  }

  node(id) {
    const { data } = this.app, node = data.nodes[id], about = data.operators[node.about];
    const module = node.module === null ? null : data.modules[node.module];
    this.fill(node.name,
      element('p', {}, about.summary),
      node.count > 1 ? element('p', {}, `${node.count.toLocaleString('en')} nodes of this line are shown as one: the graph is too large to show each.`) : null,
      element('p', { class: 'facts' }, `#${id}`, node.operator ? ` · operator ${node.operator}` : '', node.view ? ' · a view: shares the memory of its input' : '',
        node.freed ? ' · its saved values are freed' : ''),
      module ? this.moduleLine(module) : this.foldLine(this.app.folding.parents[id]),
      this.source(node.line),
      this.mathematics(about),
      section('Shapes', table(['', 'shape', 'dtype', 'from / to'], [
        ...node.inputs.map((value, i) => value && [`in ${i}`, shapeText(value.shape), value.dtype, this.sourcesOf(id, i)]).filter(Boolean),
        ...node.outputs.map((value, i) => [`out ${i}`, shapeText(value.shape), value.dtype, this.usersOf(id, i)]),
      ])),
      section('Saved for backward', this.saved(node, id)),
      section('Settings', table(['name', 'value'], node.settings)),
      this.app.player ? this.app.player.stepsOf(id) : null);
  }

  moduleLine(module) {
    const path = module.path;
    const fold = path && this.app.folding.groups.has(path)
      ? element('button', { type: 'button', class: 'link', onclick: () => this.app.toggle(path) }, this.app.folding.open.has(path) ? 'fold' : 'unfold') : null;
    return element('p', { class: 'facts' }, 'made by ', element('code', {}, path || '(the model)'), ' ' + module.class_name + ' ', fold);
  }

  foldLine(key) {
    return key === null ? null : element('p', { class: 'facts' },
      element('button', { type: 'button', class: 'link', onclick: () => this.app.toggle(key) }, this.app.folding.open.has(key) ? 'fold the nodes of this line' : 'unfold the nodes of this line'));
  }

  sourcesOf(id, place) {
    const edge = this.app.data.edges.find((each) => each[2] === id && each[3] === place);
    return edge ? this.link(edge[0]) : '';
  }

  usersOf(id, output) {
    const users = this.app.data.edges.filter((each) => each[0] === id && each[1] === output);
    const shown = users.slice(0, 6).flatMap((edge) => [this.link(edge[2]), ' ']);
    return element('span', {}, shown, users.length > 6 ? `and ${users.length - 6} more` : '');
  }

  source(place) {
    if (place === null) return null;
    const line = this.app.data.lines[place], first = line.number - line.before.length;
    const rows = [...line.before, null, ...line.after].map((text, i) => {
      const own = text === null;
      return element('span', { class: own ? 'own' : '' }, element('b', {}, String(first + i).padStart(5)), ' ' + (own ? line.full : text));
    });
    return section('Line', element('p', { class: 'facts' }, `${fileName(line.file)}:${line.number} in ${line.function}`),
      element('pre', { class: 'source', tabindex: '0' }, rows));
  }

  mathematics(about) {
    return section('Gradient', about.derivatives.map((each) => {
      const shown = element('div', { class: 'mathematics', tabindex: '0' });
      shown.innerHTML = each.mathematics; // made from the operator table
      return element('div', {}, shown, element('details', {}, element('summary', {}, 'as Python'), element('pre', { tabindex: '0' }, each.text)));
    }));
  }

  saved(node, id) {
    const { data } = this.app;
    return table(['name', 'what', 'shape', 'bytes', 'also held by'], node.saved.map((each) => {
      const storage = each.storage === null ? null : data.storages[each.storage];
      const others = storage ? storage.holders.filter((other) => other !== id) : [];
      const holders = [storage && storage.leaf !== null ? this.link(storage.leaf) : null, ...others.slice(0, 4).map((other) => this.link(other)),
        others.length > 4 ? `and ${others.length - 4} more` : null].filter(Boolean);
      return [each.name + (each.variable ? ` (${each.variable})` : ''), each.kind, shapeText(each.shape) + ' ' + each.dtype, bytesText(each.bytes),
        holders.length ? element('span', {}, holders.flatMap((holder) => [holder, ' '])) : 'nobody else'];
    }));
  }

  leaf(id) {
    const { data } = this.app, leaf = data.leaves[id - data.nodes.length];
    this.fill(leaf.name || 'leaf',
      element('p', {}, leaf.parameter ? 'A parameter: gradients end here, in .grad.' : 'A leaf tensor: gradients end here, in .grad.'),
      section('Tensor', table(['shape', 'dtype', 'bytes'], [[shapeText(leaf.shape), leaf.dtype, bytesText(leaf.bytes)]])),
      section('Used by', element('p', {}, this.usersOf(id, 0))),
      this.app.player ? this.app.player.stepsOf(id) : null);
  }

  output(output) {
    this.fill(output.name || 'output', element('p', {}, 'What the graph was asked for; a backward pass begins here.'),
      section('Tensor', table(['shape', 'dtype', 'made by'], [[shapeText(output.shape), output.dtype, this.link(output.source)]])));
  }

  input(input) {
    this.fill(input.name, element('p', {}, 'Data without a gradient, kept by the nodes that need it for theirs.'),
      section('Tensor', table(['shape', 'dtype', 'bytes'], [[shapeText(input.shape), input.dtype, bytesText(input.bytes)]])),
      section('Kept by', element('p', {}, input.users.slice(0, 12).flatMap((id) => [this.link(id), ' ']))));
  }

  group(group) {
    const { folding, data } = this.app, counts = new Map(), inside = [];
    data.nodes.forEach((node, id) => {
      if (!folding.chain(id).includes(group.key)) return;
      counts.set(node.name, (counts.get(node.name) || 0) + (node.count || 1));
      inside.push(id);
    });
    const leaves = data.leaves.map((_, i) => data.nodes.length + i).filter((id) => folding.chain(id).includes(group.key));
    this.fill(group.label,
      element('p', {}, group.kind === 'module' ? `A module${group.kindText ? ' of class ' + group.kindText : ''}.` : `What the line ${group.kindText} recorded.`),
      element('p', {}, element('button', { type: 'button', onclick: () => this.app.toggle(group.key) }, folding.open.has(group.key) ? 'Fold' : 'Unfold')),
      section('Inside', table(['nodes', 'parameters', 'saved bytes'], [[group.count.toLocaleString('en'), String(leaves.length), bytesText(group.bytes)]]),
        table(['node', 'count'], [...counts].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([name, count]) => [name, count.toLocaleString('en')]))),
      this.app.player ? this.app.player.timesOf([...inside, ...leaves]) : null,
      inside.length ? this.source(data.nodes[inside[0]].line) : null,
      section('Parameters', table(['name', 'shape', 'bytes'], leaves.slice(0, 40).map((id) => {
        const leaf = data.leaves[id - data.nodes.length];
        return [this.link(id), shapeText(leaf.shape), bytesText(leaf.bytes)];
      }))));
  }

  views(ids) {
    this.fill('Views on this line', element('p', {}, 'These nodes only look at the same numbers in another shape (or copy them).'),
      table(['node', 'shape'], ids.map((id) => [this.link(id), shapeText((this.app.data.nodes[id].outputs[0] || { shape: [] }).shape)])));
  }
}

/* Saved bytes by module or by line: a bar whose parts are buttons, and a table. */
class Memory {
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.by = app.data.nodes.some((node) => node.module !== null) ? 'module' : 'line';
    this.fill();
  }

  parts() {
    const { data, folding } = this.app, sums = new Map();
    data.nodes.forEach((node, id) => {
      if (!node.bytes) return;
      const chain = folding.chain(id).filter((key) => folding.groups.get(key).kind === 'module');
      let label = 'outside of modules', key = id;
      if (this.by === 'module' && chain.length) {
        key = chain.slice(0, this.depth()).pop();
        label = `${key} ${folding.groups.get(key).kindText}`;
      }
      else if (this.by === 'module' && node.module !== null) label = `${data.modules[node.module].path} ${data.modules[node.module].class_name}`.trim();
      else if (this.by === 'line' && node.line !== null) {
        const line = data.lines[node.line];
        label = `${fileName(line.file)}:${line.number}  ${line.text}`;
      } else if (this.by === 'line') label = 'unknown line';
      const part = sums.get(label) || { label, key, bytes: 0 };
      part.bytes += node.bytes;
      sums.set(label, part);
    });
    return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
  }

  /* How deep the modules are that the bar names: as deep as gives a handful of parts. */
  depth() {
    const { folding } = this.app, groups = [...folding.groups.values()].filter((group) => group.kind === 'module');
    for (let depth = 1; depth < 6; depth++)
      if (new Set(groups.filter((group) => group.depth < depth).map((group) => group.key)).size >= 4) return depth;
    return 6;
  }

  fill() {
    const parts = this.parts(), total = parts.reduce((sum, part) => sum + part.bytes, 0);
    this.root.hidden = !total;
    if (!total) return;
    const go = (part) => (typeof part.key === 'number' ? this.app.reveal(part.key) : this.app.choose(part.key));
    const few = parts.slice(0, 12), rest = parts.slice(12).reduce((sum, part) => sum + part.bytes, 0);
    const bar = element('div', { class: 'bar' }, few.map((part, i) =>
      element('button', { type: 'button', class: 'part colour' + (i % 6), style: `flex-grow:${part.bytes / total}`, title: `${part.label}: ${bytesText(part.bytes)}`, 'aria-label': `${part.label}: ${bytesText(part.bytes)} saved`, onclick: () => go(part) },
        part.bytes / total > 0.09 ? short(part.label, 26) : '')),
      rest ? element('span', { class: 'part rest', style: `flex-grow:${rest / total}`, title: `others: ${bytesText(rest)}` }) : null);
    const by = element('button', { type: 'button', onclick: () => { this.by = this.by === 'module' ? 'line' : 'module'; this.fill(); } }, 'by ' + this.by);
    this.root.replaceChildren(element('span', { class: 'label' }, `${bytesText(total)} saved`), bar, by);
  }
}
