"""The projects of `taper new` on taper and on PyTorch: the same losses, and passing tests."""

import pytest

from new_projects import losses, new_project, run
from taper.commands.new import TEMPLATES


@pytest.mark.parametrize("template", TEMPLATES)
def test_both_libraries_train_a_project_with_equal_losses(template, tmp_path):
    project = new_project(tmp_path, template)
    ours, theirs = losses(project, "-m", "taper", "run"), losses(project)
    assert ours == pytest.approx(theirs, rel=1e-4)


def test_the_projects_own_tests_pass_with_pytorch(tmp_path):
    project = new_project(tmp_path, "mlp")
    assert "4 passed" in run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider")
