/* From a picture (boxes and lines) to a scene: absolute places of boxes, of the open modules around
 * them, and the points of the lines.  An open module is laid out by itself, innermost first, and is
 * then one box for what is around it. */

const PAD = 14, TITLE = 26, CHAR = 7.3;

function textWidth(text) {
  let width = 0;
  for (const character of text) width += character.codePointAt(0) > 0x2e80 ? 2 * CHAR : CHAR;
  return width;
}

function short(text, most) { return text.length <= most ? text : text.slice(0, most - 1) + '…'; }

function shapeText(shape) { return shape.length ? '(' + shape.join(', ') + ')' : 'scalar'; }

function bytesText(bytes) {
  for (const unit of ['B', 'kB', 'MB', 'GB']) {
    if (bytes < 1000 || unit === 'GB') return (unit === 'B' ? bytes : bytes.toFixed(bytes < 10 ? 1 : 0)) + ' ' + unit;
    bytes /= 1000;
  }
  return '';
}

/* The texts of a box and its kind, which decides its colours. */
function describeBox(box, folding) {
  const { data } = folding, key = box.key;
  if (box.output) return { kind: 'output', lines: [box.output.name || 'output', shapeText(box.output.shape)] };
  if (box.input) return { kind: 'input', lines: [short(box.input.name, 30), shapeText(box.input.shape)] };
  if (typeof key === 'string') {
    const group = folding.groups.get(key);
    const size = group.count.toLocaleString('en') + (group.count === 1 ? ' node' : ' nodes');
    return {
      kind: 'group ' + group.kind,
      lines: [short(group.label, 34), group.kindText ? short(group.kindText, 34) : '', size + (group.bytes ? ' · ' + bytesText(group.bytes) : '')].filter(Boolean),
    };
  }
  if (key >= data.nodes.length) {
    const leaf = data.leaves[key - data.nodes.length];
    return { kind: 'leaf', lines: [short(leaf.name || 'leaf', 34), shapeText(leaf.shape)] };
  }
  const node = data.nodes[key];
  const lines = [short(node.name, 34), node.outputs.length ? shapeText(node.outputs[0].shape) + (node.outputs.length > 1 ? ` +${node.outputs.length - 1}` : '') : ''];
  const module = node.module === null ? null : data.modules[node.module];
  if (module && module.path !== folding.parents[key] && module.path) lines.push(short(`${module.path} ${module.class_name}`, 34));
  const writer = node.settings.find(([name]) => name === 'written by');
  if (writer) lines.push('by ' + short(writer[1], 30));
  if (node.count > 1) lines.push('× ' + node.count.toLocaleString('en'));
  return { kind: node.freed ? 'node freed' : 'node', lines: lines.filter(Boolean) };
}

function makeScene(folding) {
  const picture = folding.picture();
  const levels = new Map([['', { items: [], links: new Map(), depth: -1 }]]);
  const chains = new Map(), boxes = [];
  const chainOf = (key) => {
    if (typeof key === 'number') return folding.chain(key).filter((each) => folding.groups.get(each).kind === 'module'); // lines have no frame
    const group = folding.groups.get(key);
    const keys = [];
    for (let each = group ? group.parent : null; each !== null; each = folding.groups.get(each).parent) keys.push(each);
    return keys.reverse();
  };
  for (const box of picture.boxes.values()) {
    const chain = ['', ...chainOf(box.key)];
    chains.set(box.key, chain);
    chain.forEach((key, i) => {
      if (levels.has(key)) return;
      const group = folding.groups.get(key);
      levels.set(key, { items: [], links: new Map(), depth: i, group });
      levels.get(chain[i - 1]).items.push({ level: key, order: group.first });
    });
    const { kind, lines } = describeBox(box, folding);
    const width = Math.max(48, ...lines.map((line, i) => textWidth(line) * (i ? 0.9 : 1))) + 20;
    const made = { ...box, kind, lines, width, height: 12 + 16 * lines.length, order: box.first };
    boxes.push(made);
    levels.get(chain[chain.length - 1]).items.push({ box: made, order: made.order });
  }
  const byKey = new Map(boxes.map((box) => [box.key, box]));
  for (const box of boxes) if (box.kind === 'leaf' || box.kind === 'input') box.order = -1; // before all users
  for (const level of levels.values()) {
    level.items.forEach((item) => { if (item.box) item.order = item.box.order; });
    level.items.sort((x, y) => x.order - y.order);
    level.index = new Map(level.items.map((item, i) => [item.box ? item.box.key : 'level ' + item.level, i]));
  }
  for (const line of picture.lines) addPorts(line, levels, chains);
  for (const level of levels.values()) {
    level.items.sort((x, y) => x.order - y.order);
    level.index = new Map(level.items.map((item, i) => [nameOfItem(item), i]));
  }
  for (const line of picture.lines) liftLine(line, levels, chains);
  const order = [...levels.entries()].sort((a, b) => b[1].depth - a[1].depth);
  for (const [, level] of order) placeLevel(level, levels);
  const containers = spread(levels, order.reverse());
  const scene = { boxes, byKey, containers, lines: picture.lines, width: levels.get('').width, height: levels.get('').height };
  for (const line of scene.lines) {
    line.points = pointsOf(line, byKey);
    const xs = line.points.map((point) => point[0]), ys = line.points.map((point) => point[1]);
    line.extent = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  }
  return scene;
}

function nameOfItem(item) {
  return item.port || (item.box ? item.box.key : 'level ' + item.level);
}

/* The number of groups around both ends of a line, and the items of each level on its way. */
function wayOf(line, chains) {
  const a = chains.get(line.from), b = chains.get(line.to);
  let depth = 0;
  while (depth + 1 < a.length && depth + 1 < b.length && a[depth + 1] === b[depth + 1]) depth++;
  const item = (chain, k, key) => (k + 1 < chain.length ? 'level ' + chain[k + 1] : key);
  return { a, b, depth, item };
}

/* A line goes into an open module and out of it at ports, which have places of their own. */
function addPorts(line, levels, chains) {
  const { a, b, depth, item } = wayOf(line, chains), level = levels.get(a[depth]);
  if (level.index.get(item(a, depth, line.from)) > level.index.get(item(b, depth, line.to))) return;
  const add = (key, port, order) => {
    const inner = levels.get(key);
    if (!inner.index.has(port)) {
      inner.index.set(port, -1);
      inner.items.push({ port, order, size: { width: 8, height: 0, top: order < 0, bottom: order > 0 } });
    }
  };
  for (let k = depth + 1; k < a.length; k++) add(a[k], 'exit ' + item(a, k, line.from), Infinity);
  for (let k = depth + 1; k < b.length; k++) add(b[k], 'enter ' + item(b, k, line.to), -2);
}

/* Let a line be part of the levels that it passes: those around its ends, and the one that holds both. */
function liftLine(line, levels, chains) {
  const { a, b, depth, item } = wayOf(line, chains);
  const link = (key, from, to) => {
    const level = levels.get(key), ends = [level.index.get(from), level.index.get(to)], name = ends.join(' ');
    if (!level.links.has(name)) level.links.set(name, level.links.size);
    return { level, ends, link: level.links.get(name) };
  };
  const outer = levels.get(a[depth]), from = item(a, depth, line.from), to = item(b, depth, line.to);
  line.back = outer.index.get(from) > outer.index.get(to);
  if (line.back) { link(a[depth], to, from); return; }
  line.way = [];
  for (let k = a.length - 1; k > depth; k--) line.way.push(link(a[k], item(a, k, line.from), 'exit ' + item(a, k, line.from)));
  line.way.push(link(a[depth], from, to));
  for (let k = depth + 1; k < b.length; k++) line.way.push(link(b[k], 'enter ' + item(b, k, line.to), item(b, k, line.to)));
}

function placeLevel(level, levels) {
  const sizes = level.items.map((item) => {
    if (item.box || item.port) return item.box || item.size;
    const inner = levels.get(item.level);
    return { width: inner.width, height: inner.height };
  });
  const links = [...level.links.keys()].map((key) => key.split(' ').map(Number));
  level.layout = placeInLayers(sizes, links);
  const title = level.group ? level.group.label + '  ' + level.group.kindText : '';
  level.width = Math.max(level.layout.width, level.group ? Math.min(textWidth(title), 340) + 16 : 0) + (level.group ? 2 * PAD : 0);
  level.shift = (level.width - level.layout.width) / 2;
  level.height = level.layout.height + (level.group ? 2 * PAD + TITLE : 0);
}

/* From places within a level to places in the scene, outermost first. */
function spread(levels, order) {
  const containers = [];
  for (const [key, level] of order) {
    const left = level.left || 0, top = level.top || 0;
    level.originX = left + level.shift;
    level.originY = top + (level.group ? PAD + TITLE : 0);
    if (level.group) containers.push({ key, group: level.group, x: left, y: top, width: level.width, height: level.height });
    level.items.forEach((item, i) => {
      const x = level.originX + level.layout.x[i], y = level.originY + level.layout.y[i];
      if (item.box) { item.box.x = x; item.box.y = y; return; }
      if (item.port) return;
      const inner = levels.get(item.level);
      inner.left = x - inner.width / 2;
      inner.top = y - inner.height / 2;
    });
  }
  return containers;
}

function pointsOf(line, byKey) {
  const from = byKey.get(line.from), to = byKey.get(line.to);
  const within = (x, box) => Math.min(Math.max(x, box.x - box.width / 2 + 12), box.x + box.width / 2 - 12);
  if (line.back) {
    const side = Math.max(from.x + from.width / 2, to.x + to.width / 2) + 24;
    return [[from.x + from.width / 2, from.y], [side, from.y], [side, to.y], [to.x + to.width / 2, to.y]];
  }
  const points = [];
  for (const { level, ends, link } of line.way) {
    const { layout, originX, originY, items } = level;
    const passing = (i, ...ys) => { if (items[i].port) for (const y of ys) points.push([originX + layout.x[i], y]); };
    passing(ends[0], level.top, originY + layout.bands[ends[0]][1]);
    for (const [x, top, bottom] of layout.ways[link]) points.push([originX + x, originY + top], [originX + x, originY + bottom]);
    passing(ends[1], originY + layout.bands[ends[1]][0], level.top + level.height);
  }
  const first = line.way[0], last = line.way[line.way.length - 1];
  const start = within(points.length ? points[0][0] : to.x, from);
  const stop = within(points.length ? points[points.length - 1][0] : from.x, to);
  points.unshift([start, from.y + from.height / 2], [start, first.level.originY + first.level.layout.bands[first.ends[0]][1]]);
  points.push([stop, last.level.originY + last.level.layout.bands[last.ends[1]][0]], [stop, to.y - to.height / 2]);
  return points;
}

/* A line as SVG path: straight along the flow, else a curve that leaves and arrives along it. */
function pathOf(line) {
  const points = line.points, round = (value) => Math.round(value * 10) / 10;
  if (line.back) {
    const [a, b, c, d] = points.map((point) => point.map(round).join(' '));
    return `M${a}C${b} ${c} ${d}`;
  }
  let [x, y] = points[0], path = `M${round(x)} ${round(y)}`;
  for (const [nextX, nextY] of points.slice(1)) {
    if (nextY <= y + 0.5 && Math.abs(nextX - x) < 0.5) continue;
    const middle = round((y + nextY) / 2);
    path += Math.abs(nextX - x) < 0.5 ? `L${round(nextX)} ${round(nextY)}`
      : `C${round(x)} ${middle} ${round(nextX)} ${middle} ${round(nextX)} ${round(nextY)}`;
    [x, y] = [nextX, nextY];
  }
  return path;
}
