"""`taper.profiler`: profiling a program step by step, with a schedule.

The events and tables are those of `taper.autograd.profiler`.
"""

from taper.autograd import kineto_available
from taper.autograd.profiler import record_function
from taper.autograd.profiler_util import DeviceType
from taper.profiler import itt
from taper.profiler.actions import (
    ProfilerAction,
    ProfilerActivity,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from taper.profiler.profiler import ExecutionTraceObserver, profile

__all__ = [
    "DeviceType",
    "ExecutionTraceObserver",
    "ProfilerAction",
    "ProfilerActivity",
    "itt",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
