"""How launchers of several machines meet: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "RendezvousHandler RendezvousParameters RendezvousInfo RendezvousStoreInfo "
    "rendezvous_handler_registry",
    "use the command taper run with --rdzv-endpoint, or mpirun",
)
