"""What tests of workers load: samples that a function computes, in forked processes."""

from taper.utils.data import DataLoader, Dataset


class Computed(Dataset):
    """Samples that a function computes."""

    def __init__(self, function, count=4):
        self.function, self.count = function, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.function(index)


def same(value):
    return value


def loader(dataset, *arguments, **options):
    options.setdefault("num_workers", 2)
    options.setdefault("multiprocessing_context", "fork")
    return DataLoader(dataset, *arguments, **options)


def computed(function, count=4, **options):
    return loader(Computed(function, count), batch_size=None, collate_fn=same, **options)


def lists(batches):
    return [each.tolist() for each in batches]
