"""Small programs with sparse tensors, in the manner of gcn and gat of pytorch/examples.

Each takes the library and returns the losses of its training.
"""

from __future__ import annotations


def _graph(torch):
    """Return the normalized adjacency of a ring of eight with two chords, sparse."""
    pairs = [(i, (i + 1) % 8) for i in range(8)] + [(0, 4), (2, 6)]
    pairs += [(j, i) for i, j in pairs] + [(i, i) for i in range(8)]
    where = torch.tensor(pairs).t()
    adjacency = torch.sparse_coo_tensor(where, torch.ones(where.shape[1]), (8, 8)).coalesce()
    degree = torch.sparse.sum(adjacency, dim=1).to_dense()
    scale = torch.diag(degree.pow(-0.5))
    return (scale @ adjacency.to_dense() @ scale).to_sparse()


def _data(torch):
    torch.manual_seed(0)
    return torch.randn(8, 5), torch.tensor([0, 0, 1, 1, 2, 2, 0, 1])


def convolution_losses(torch):
    """Train a graph convolution network; the graph is a sparse matrix."""
    nn = torch.nn

    class Convolution(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.kernel = nn.Parameter(torch.zeros(inputs, outputs))
            nn.init.xavier_normal_(self.kernel)
            self.bias = nn.Parameter(torch.zeros(outputs))

        def forward(self, features, graph):
            return torch.spmm(graph, torch.mm(features, self.kernel)) + self.bias

    features, target = _data(torch)
    graph = _graph(torch)
    one, two = Convolution(5, 6), Convolution(6, 3)
    parameters = [*one.parameters(), *two.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.05, weight_decay=5e-4)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        hidden = nn.functional.relu(one(features, graph))
        loss = nn.functional.nll_loss(nn.functional.log_softmax(two(hidden, graph), dim=1), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def attention_losses(torch):
    """Train a layer whose sparse graph has learned weights, normalized by a sparse softmax."""
    nn = torch.nn
    features, target = _data(torch)
    where = _graph(torch).indices()
    kernel = nn.Parameter(torch.randn(5, 3))
    scores = nn.Parameter(torch.randn(6, 1))
    optimizer = torch.optim.SGD([kernel, scores], lr=0.1)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        hidden = features @ kernel
        pairs = torch.cat([hidden[where[0]], hidden[where[1]]], dim=1)
        weights = nn.functional.leaky_relu(pairs @ scores).squeeze(1)
        graph = torch.sparse.softmax(torch.sparse_coo_tensor(where, weights, (8, 8)), 1)
        loss = nn.functional.cross_entropy(torch.sparse.mm(graph, hidden), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def rows_losses(torch):
    """Train a table by sparse gradients, and a layer by dense ones."""
    torch.manual_seed(0)
    table = torch.nn.EmbeddingBag(20, 4, mode="mean", sparse=True)
    layer = torch.nn.Linear(4, 2)
    indices, offsets = torch.randint(0, 20, (12,)), torch.tensor([0, 4, 8])
    target = torch.tensor([0, 1, 1])
    optimizers = [
        torch.optim.SparseAdam(list(table.parameters()), lr=0.05),
        torch.optim.Adagrad(layer.parameters(), lr=0.1),
    ]
    losses = []
    for _ in range(5):
        loss = torch.nn.functional.cross_entropy(layer(table(indices, offsets)), target)
        for each in optimizers:
            each.zero_grad()
        loss.backward()
        for each in optimizers:
            each.step()
        losses.append(loss.item())
    return losses
