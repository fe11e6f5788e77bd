"""Models cut into stages: the names; they refuse when they are used."""

from taper.distributed.refused import refuse

__all__ = refuse(
    globals(),
    "Pipe pipe_split SplitPoint pipeline PipelineStage build_stage Schedule1F1B "
    "ScheduleGPipe ScheduleInterleaved1F1B ScheduleLoopedBFS "
    "ScheduleInterleavedZeroBubble ScheduleZBVZeroBubble ScheduleDualPipeV",
    "use fully_shard or DistributedDataParallel",
)
