/* Where boxes go: layers from top to bottom, as few crossings as a few sweeps give, straight long
 * lines.  Sizes and pairs of indices go in, coordinates come out; nothing here knows the graph.
 * All steps are loops over arrays; the work is limited for very large graphs. */

const GAP_X = 18, GAP_Y = 34, MOST_WAYPOINTS = 30000;

/* items: [{width, height}]; one that nothing leads to sits just above its first user.
 * An item with `top` or `bottom` stays in the first or last layer.
 * links: [[from, to]] with from before to in the order of `items`.
 * Returns {x, y (centres), width, height, bands: for each item top and bottom of its layer, ways: for
 * each link [x, top, bottom] where it passes a layer between its ends}. */
function placeInLayers(items, links) {
  const count = items.length, ranks = new Int32Array(count);
  const into = items.map(() => []), out = items.map(() => []);
  for (const [a, b] of links) { out[a].push(b); into[b].push(a); }
  for (let v = 0; v < count; v++)
    for (const u of into[v]) ranks[v] = Math.max(ranks[v], ranks[u] + 1);
  for (let v = count - 1; v >= 0; v--)
    if (!into[v].length && out[v].length && !items[v].top)
      ranks[v] = Math.max(0, Math.min(...out[v].map((w) => ranks[w])) - 1);
  const last = Math.max(0, ...ranks);
  items.forEach((item, v) => { if (item.bottom) ranks[v] = last; });
  const points = items.map((item, v) => ({ rank: ranks[v], width: item.width, item: v, up: [], down: [] }));
  let needed = 0;
  for (const [a, b] of links) needed += Math.max(0, ranks[b] - ranks[a] - 1);
  const bent = needed <= MOST_WAYPOINTS;
  const chains = links.map(([a, b]) => {
    const chain = [a];
    for (let rank = ranks[a] + 1; bent && rank < ranks[b]; rank++) {
      points.push({ rank, width: 6, item: -1, up: [], down: [] });
      chain.push(points.length - 1);
    }
    chain.push(b);
    for (let i = 1; i < chain.length; i++) {
      points[chain[i - 1]].down.push(chain[i]);
      points[chain[i]].up.push(chain[i - 1]);
    }
    return chain;
  });
  const layers = [];
  points.forEach((point, p) => (layers[point.rank] = layers[point.rank] || []).push(p));
  for (let r = 0; r < layers.length; r++) layers[r] = layers[r] || [];
  orderLayers(points, layers);
  const xs = coordinates(points, layers);
  const middles = [], heights = layers.map((layer) =>
    Math.max(0, ...layer.map((p) => (points[p].item < 0 ? 0 : items[points[p].item].height))));
  let y = 0;
  const tops = [];
  const gap = (r) => (r + 1 === heights.length ? 0 : heights[r] && heights[r + 1] ? GAP_Y : 10); // a layer of ports is flat
  heights.forEach((height, r) => { tops[r] = y; middles[r] = y + height / 2; y += height + gap(r); });
  let left = Infinity, right = -Infinity;
  points.forEach((point, p) => {
    left = Math.min(left, xs[p] - point.width / 2);
    right = Math.max(right, xs[p] + point.width / 2);
  });
  if (!count) left = right = 0;
  return {
    x: items.map((_, v) => xs[v] - left),
    y: items.map((_, v) => middles[ranks[v]]),
    width: right - left,
    height: y,
    bands: items.map((_, v) => [tops[ranks[v]], tops[ranks[v]] + heights[ranks[v]]]),
    ways: chains.map((chain) => chain.slice(1, -1).map((p) => {
      const rank = points[p].rank;
      return [xs[p] - left, tops[rank], tops[rank] + heights[rank]];
    })),
  };
}

/* Sweep down and up; each layer is sorted by the mean place of its neighbours. */
function orderLayers(points, layers) {
  const place = new Float64Array(points.length);
  const renumber = (layer) => layer.forEach((p, i) => (place[p] = i));
  layers.forEach(renumber);
  const sweeps = points.length > 8000 ? 2 : 10;
  let best = null, fewest = Infinity;
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const down = sweep % 2 === 0;
    for (let i = 0; i < layers.length; i++) {
      const layer = layers[down ? i : layers.length - 1 - i];
      if (layer.length < 2) continue;
      const wanted = new Map();
      layer.forEach((p, own) => {
        const near = down ? points[p].up : points[p].down;
        wanted.set(p, near.length ? near.reduce((sum, q) => sum + place[q], 0) / near.length : own);
      });
      layer.sort((a, b) => wanted.get(a) - wanted.get(b));
      renumber(layer);
    }
    if (points.length > 4000) continue;
    const crossings = countCrossings(points, layers, place);
    if (crossings < fewest) { fewest = crossings; best = layers.map((layer) => layer.slice()); }
    if (!crossings) break;
  }
  if (best) best.forEach((layer, r) => { layers[r] = layer; renumber(layer); });
}

function countCrossings(points, layers, place) {
  let total = 0;
  for (const layer of layers) {
    const ends = [];
    for (const p of layer) ends.push(...points[p].down.map((q) => place[q]).sort((a, b) => a - b));
    if (ends.length > 1500) continue;
    for (let i = 0; i < ends.length; i++)
      for (let j = i + 1; j < ends.length; j++) if (ends[i] > ends[j]) total++;
  }
  return total;
}

/* Each layer in turn goes as near to the mean of its neighbours as boxes without overlap can. */
function coordinates(points, layers) {
  const xs = new Float64Array(points.length);
  for (const layer of layers) {
    let x = 0;
    for (const p of layer) { xs[p] = x + points[p].width / 2; x += points[p].width + GAP_X; }
    for (const p of layer) xs[p] -= x / 2;
  }
  const passes = points.length > 8000 ? 3 : 12;
  for (let pass = 0; pass < passes; pass++) {
    const down = pass % 2 === 0;
    for (let i = 0; i < layers.length; i++) {
      const layer = layers[down ? i : layers.length - 1 - i];
      fitLayer(layer, points, xs, layer.map((p) => {
        const point = points[p];
        const near = pass > passes - 3 ? point.up.concat(point.down) : down ? point.up : point.down;
        return near.length ? near.reduce((sum, q) => sum + xs[q], 0) / near.length : xs[p];
      }));
    }
  }
  return xs;
}

/* The places nearest to `wanted` (least squares) that keep order and distance: pool adjacent blocks. */
function fitLayer(layer, points, xs, wanted) {
  const blocks = [];
  let offset = 0;
  layer.forEach((p, i) => {
    if (i) offset += (points[layer[i - 1]].width + points[p].width) / 2 + GAP_X;
    const weight = points[p].item < 0 ? 3 : 1;
    blocks.push({ sum: weight * (wanted[i] - offset), weight, members: [[p, offset]] });
    while (blocks.length > 1) {
      const last = blocks[blocks.length - 1], before = blocks[blocks.length - 2];
      if (before.sum / before.weight <= last.sum / last.weight) break;
      before.sum += last.sum;
      before.weight += last.weight;
      before.members.push(...last.members);
      blocks.pop();
    }
  });
  for (const block of blocks)
    for (const [p, away] of block.members) xs[p] = block.sum / block.weight + away;
}
