"""torch_geometric: layers, batches, pooling, node and graph classification on dense edge lists."""

import torch
import torch.nn.functional as F
import torch_geometric.nn as gnn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import (
    AddSelfLoops,
    Compose,
    NormalizeFeatures,
    ToUndirected,
)
from torch_geometric.utils import (
    degree,
    scatter,
    softmax,
    to_dense_adj,
    to_dense_batch,
    to_undirected,
)

torch.manual_seed(0)
edges = to_undirected(torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 3, 4, 5, 0, 3, 5]]))
x = torch.randn(6, 8)
y = torch.tensor([0, 1, 2, 0, 1, 2])
print(*degree(edges[0]).tolist(), to_dense_adj(edges).sum().item())
kinds = {
    "GCN": lambda: gnn.GCNConv(8, 4), "GAT": lambda: gnn.GATConv(8, 4, heads=2), "SAGE": lambda: gnn.SAGEConv(8, 4),
    "GIN": lambda: gnn.GINConv(torch.nn.Linear(8, 4)), "Graph": lambda: gnn.GraphConv(8, 4),
    "Cheb": lambda: gnn.ChebConv(8, 4, K=2), "TAG": lambda: gnn.TAGConv(8, 4), "SG": lambda: gnn.SGConv(8, 4, K=2),
    "GATv2": lambda: gnn.GATv2Conv(8, 4), "Transformer": lambda: gnn.TransformerConv(8, 4), "ARMA": lambda: gnn.ARMAConv(8, 4),
    "Edge": lambda: gnn.EdgeConv(torch.nn.Linear(16, 4)), "APPNP": lambda: gnn.APPNP(3, 0.1), "GatedGraph": lambda: gnn.GatedGraphConv(8, 2),
}  # fmt: skip
for name, make in kinds.items():
    torch.manual_seed(1)
    layer = make()
    out = layer(x, edges)
    total = out.square().sum()
    norm = 0.0
    if list(layer.parameters()):
        total.backward()
        norm = sum(p.grad.abs().sum() for p in layer.parameters() if p.grad is not None).item()
    print(name, *out.shape, out.sum().item(), norm)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = gnn.GCNConv(8, 16)
        self.second = gnn.GATConv(16, 3)

    def forward(self, data):
        hidden = F.dropout(self.first(data.x, data.edge_index).relu(), 0.5, self.training)
        return self.second(hidden, data.edge_index).log_softmax(1)


data = Compose([NormalizeFeatures(), ToUndirected(), AddSelfLoops()])(
    Data(x=x.abs(), edge_index=edges, y=y)
)
print(data.num_nodes, data.num_edges, data.is_undirected(), data.has_self_loops())
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=5e-4)
for epoch in range(10):
    optimizer.zero_grad()
    loss = F.nll_loss(net(data), data.y)
    loss.backward()
    optimizer.step()
print("nodes", loss.item(), *net.eval()(data).argmax(1).tolist())
graphs = [
    Data(x=torch.randn(n, 4), edge_index=torch.randint(0, n, (2, 3 * n)), y=torch.tensor([n % 2]))
    for n in range(3, 11)
]


class Pooled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = gnn.GraphConv(4, 8)
        self.norm = gnn.BatchNorm(8)
        self.pool = gnn.TopKPooling(8, ratio=0.8)
        self.out = torch.nn.Linear(24, 2)

    def forward(self, x, edge_index, batch):
        x = self.norm(self.conv(x, edge_index)).relu()
        x, edge_index, _, batch, _, _ = self.pool(x, edge_index, None, batch)
        parts = (
            gnn.global_mean_pool(x, batch),
            gnn.global_max_pool(x, batch),
            gnn.global_add_pool(x, batch),
        )
        return self.out(torch.cat(parts, 1))


model = Pooled()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(4):
    for batch in DataLoader(graphs, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y)
        loss.backward()
        optimizer.step()
    print("graphs", epoch, loss.item())
batch = Batch.from_data_list(graphs[:3])
dense, mask = to_dense_batch(batch.x, batch.batch)
print(*dense.shape, mask.sum().item(), *[g.num_nodes for g in batch.to_data_list()], len(batch))
print(
    *softmax(torch.arange(4.0), torch.tensor([0, 0, 1, 1])).tolist(),
    *scatter(torch.ones(4), torch.tensor([0, 0, 1, 1]), reduce="mean").tolist(),
)
basic = gnn.models.GraphSAGE(8, 16, num_layers=2, out_channels=3)
print("basic", basic(x, edges).sum().item(), gnn.models.MLP([8, 4, 2])(x).sum().item())
print(
    gnn.Sequential("x, edge_index", [(gnn.GCNConv(8, 4), "x, edge_index -> x"), torch.nn.ReLU()])(
        x, edges
    )
    .sum()
    .item()
)
auto = gnn.GAE(gnn.GCNConv(8, 4))
z = auto.encode(x, edges)
print("recon", auto.recon_loss(z, edges, neg_edge_index=torch.tensor([[0, 1], [4, 5]])).item())
