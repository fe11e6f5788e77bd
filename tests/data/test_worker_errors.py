"""What goes wrong in workers: errors, unsendable values, timeouts, deaths; as PyTorch's."""

import multiprocessing
import os
import queue
import signal
import time

import pytest

import taper
from data.loading import Computed, computed, lists, loader, same
from taper.utils.data._utils.errors import description_of_exit

METHODS = multiprocessing.get_all_start_methods()
pytestmark = pytest.mark.skipif("fork" not in METHODS, reason="functions of a test need fork")


# --- errors ----------------------------------------------------------------------------------


class TwoArgumentsError(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


def failing(error):
    def function(index):
        if index == 1:
            raise error
        return index

    return function


@pytest.mark.parametrize(
    "error, kind, last",
    [
        (ValueError("boo"), ValueError, "ValueError: boo"),
        (KeyError("boo"), KeyError, "KeyError: 'boo'"),
        (FileNotFoundError(2, "x"), FileNotFoundError, "FileNotFoundError: [Errno 2] x"),
        (TwoArgumentsError(1, 2), RuntimeError, "TwoArgumentsError: (1, 2)"),
    ],
)
def test_errors_are_raised_with_their_traceback(error, kind, last):
    with pytest.raises(kind) as caught:
        list(computed(failing(error)))
    lines = str(caught.value).splitlines()
    assert lines[0] == f"Caught {type(error).__name__} in DataLoader worker process 1."
    assert lines[1] == "Original Traceback (most recent call last):"
    assert lines[-1].endswith(last)
    assert any(line.endswith("in function") for line in lines)


def test_error_of_a_class_that_only_the_worker_knows():
    def function(index):
        class LocalError(Exception):
            pass

        raise LocalError("here")

    with pytest.raises(RuntimeError, match="^Caught LocalError in DataLoader worker process 0"):
        list(computed(function))


def test_pass_goes_on_after_an_error():
    found = iter(loader(Computed(failing(ValueError("boo")))))
    assert next(found).tolist() == [0]
    with pytest.raises(ValueError, match="boo"):
        next(found)
    assert lists(found) == [[2], [3]]


def test_stop_iteration_of_a_sample_ends_the_pass():
    assert list(computed(failing(StopIteration()))) == [0]


def test_errors_of_collating_and_of_worker_init_fn():
    def refuse(number):
        raise ValueError(f"not {number}")

    with pytest.raises(ValueError, match="^Caught ValueError in DataLoader worker process 0"):
        list(loader([1], worker_init_fn=refuse))
    with pytest.raises(TypeError, match="found <class 'NoneType'>"):
        list(loader([None, None], 2))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        list(loader([taper.ones(2, requires_grad=True)] * 2, 2))


def test_what_cannot_be_sent_back():
    with pytest.raises(AttributeError, match="Can't (pickle|get) local object"):
        list(computed(lambda index: lambda: 1))
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        list(computed(lambda index: taper.ones(2, requires_grad=True) * 2))


def test_error_of_the_sampler():
    def sampler():
        yield 0
        raise ValueError("sampler")

    with pytest.raises(ValueError, match="^sampler$"):
        list(loader([1, 2], sampler=sampler()))


def test_timeout():
    def slow(index):
        time.sleep(0.6 if index == 0 else 0)
        return index

    found = iter(computed(slow, 3, timeout=0.2, num_workers=1))
    with pytest.raises(RuntimeError, match="^DataLoader timed out after 0.2 seconds$"):
        next(found)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:  # the answer is not lost
        try:
            assert list(found) == [0, 1, 2]
            break
        except RuntimeError:
            continue
    else:
        pytest.fail("the data never came")


def test_options_refused_by_workers():
    with pytest.raises(AssertionError, match="^prefetch_factor must be greater than 0 for Multi"):
        iter(loader([1], prefetch_factor=0))
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        iter(loader([1], num_workers=1.5))


# --- deaths ----------------------------------------------------------------------------------


def ending(action):
    def function(index):
        if index == 1:
            action()
        return index

    return function


def kill_myself(number):
    return lambda: os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    "action, cause",
    [
        (kill_myself(signal.SIGKILL), "is killed by signal: Killed. "),
        (kill_myself(signal.SIGTERM), "is killed by signal: Terminated. "),
        (lambda: os._exit(3), "exited unexpectedly with exit code 3. Details are lost due to mul"),
        (lambda: (_ for _ in ()).throw(SystemExit(3)), "exited unexpectedly with exit code 3. "),
    ],
)
def test_death_of_a_worker_is_noticed(action, cause):
    start = time.monotonic()
    text = r"^DataLoader worker \(pid\(s\) \d+\) exited unexpectedly$"
    with pytest.raises(RuntimeError, match=text) as caught:
        list(computed(ending(action)))
    assert time.monotonic() - start < 30
    assert cause in str(caught.value.__cause__)


def test_silent_end_of_a_worker_is_noticed():
    with pytest.raises(RuntimeError, match="exited unexpectedly$") as caught:
        list(computed(ending(lambda: os._exit(0))))
    assert isinstance(caught.value.__cause__, queue.Empty)


def test_death_is_noticed_while_another_worker_is_waited_for():
    def function(index):
        time.sleep(60 if index == 0 else 0)
        os._exit(4)

    start = time.monotonic()
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(computed(function))
    assert time.monotonic() - start < 40  # ending the sleeping one takes five seconds


def test_death_between_two_batches_is_noticed():
    found = iter(computed(same, 100, num_workers=1))
    assert next(found) == 0
    found._workers[0].kill()
    found._workers[0].join()
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(found)


def test_texts_about_deaths():
    assert description_of_exit(5, -signal.SIGBUS) == (
        "DataLoader worker (pid 5) is killed by signal: Bus error. It is possible that "
        "dataloader's workers are out of shared memory. Please try to raise your shared memory "
        "limit."
    )
    assert description_of_exit(5, 1).startswith("DataLoader worker (pid 5) exited unexpectedly wit")
