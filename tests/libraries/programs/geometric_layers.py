"""torch_geometric: GCN, GAT, SAGE, GIN, transformer layers on a random graph; link prediction, batches, pooling, heterogeneous, loaders, transforms."""

import random

import torch
import torch_geometric as pyg
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GAE,
    GCN,
    MLP,
    ARMAConv,
    ChebConv,
    EdgeConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GraphConv,
    GraphNorm,
    HeteroConv,
    PNAConv,
    SAGEConv,
    SGConv,
    TAGConv,
    TopKPooling,
    TransformerConv,
    global_mean_pool,
)
from torch_geometric.utils import (
    degree,
    k_hop_subgraph,
    negative_sampling,
    softmax,
    to_dense_adj,
    to_undirected,
)

random.seed(0)
torch.manual_seed(0)
ei = to_undirected(torch.randint(0, 20, (2, 50)))
x = torch.randn(20, 8)
y = torch.randint(0, 3, (20,))
deg = torch.bincount(degree(ei[1], 20, dtype=torch.long), minlength=20)
for make in (
    lambda: GCNConv(8, 3),
    lambda: GATConv(8, 3, heads=2, concat=False),
    lambda: GATv2Conv(8, 3),
    lambda: SAGEConv(8, 3, aggr="max"),
    lambda: GINConv(MLP([8, 8, 3])),
    lambda: TransformerConv(8, 3, heads=2, concat=False),
    lambda: ChebConv(8, 3, K=3),
    lambda: ARMAConv(8, 3),
    lambda: GraphConv(8, 3),
    lambda: TAGConv(8, 3),
    lambda: SGConv(8, 3, K=2),
    lambda: EdgeConv(MLP([16, 3])),
    lambda: PNAConv(8, 3, ["mean", "max", "std"], ["identity", "amplification"], deg),
):
    torch.manual_seed(1)
    c = make()
    opt = torch.optim.Adam(c.parameters(), 0.02)
    for i in range(4):
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(c(x, ei), y)
        loss.backward()
        opt.step()
    print(type(c).__name__, loss.item())
ds = [
    Data(
        x=torch.randn(n, 4),
        edge_index=to_undirected(torch.randint(0, n, (2, 2 * n))),
        y=torch.tensor([n % 2]),
    )
    for n in range(4, 12)
]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.p, self.b, self.n, self.head = (
            GCNConv(4, 8),
            TopKPooling(8, 0.6),
            GCNConv(8, 8),
            GraphNorm(8),
            torch.nn.Linear(8, 2),
        )

    def forward(self, d):
        h = self.n(self.a(d.x, d.edge_index).relu(), d.batch)
        h, e, _, b, _, _ = self.p(h, d.edge_index, None, d.batch)
        return self.head(global_mean_pool(self.b(h, e).relu(), b))


m = Net()
opt = torch.optim.AdamW(m.parameters(), 0.01)
for e in range(2):
    for d in DataLoader(ds, 4, shuffle=True):
        loss = torch.nn.functional.cross_entropy(m(d), d.y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        print(loss.item(), d.num_graphs)
gae = GAE(GCN(8, 8, 2, 4))
z = gae.encode(x, ei)
print(gae.recon_loss(z, ei, negative_sampling(ei, 20, 30)).item())
h = HeteroData()
h["u"].x, h["i"].x = torch.randn(5, 4), torch.randn(7, 6)
h["u", "r", "i"].edge_index = torch.stack([torch.randint(0, 5, (9,)), torch.randint(0, 7, (9,))])
h["i", "b", "u"].edge_index = h["u", "r", "i"].edge_index.flip(0)
hc = HeteroConv(
    {
        ("u", "r", "i"): SAGEConv((4, 6), 3),
        ("i", "b", "u"): GATConv((6, 4), 3, add_self_loops=False),
    }
)
print({k: v.sum().item() for k, v in hc(h.x_dict, h.edge_index_dict).items()})
print(
    to_dense_adj(ei).sum().item(),
    k_hop_subgraph(0, 1, ei)[0].numel(),
    softmax(torch.ones(6), torch.tensor([0, 0, 1, 1, 1, 2])).tolist(),
    pyg.transforms.Compose([pyg.transforms.NormalizeFeatures(), pyg.transforms.AddSelfLoops()])(
        Data(x=x.abs(), edge_index=ei)
    ).edge_index.shape,
)
