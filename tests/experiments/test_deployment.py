"""The files for clusters: valid as their readers judge them, and the commands in them are commands of this package."""

import copy
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config
from typer.main import get_command

from raydream.cli.app import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments/cluster"
PAGE = (FOLDER / "README.md").read_text()
JOB = yaml.safe_load((FOLDER / "rayjob.yaml").read_text())
RAY = "2.60.0"

# What a RayJob and its cluster may have, of which the second must be there (ray.io/v1, KubeRay 1.6).
FIELDS = {
    "job": ({"activeDeadlineSeconds", "backoffLimit", "clusterSelector", "runtimeEnvYAML", "submissionMode", "suspend",
             "ttlSecondsAfterFinished", "shutdownAfterJobFinishes"}, {"entrypoint", "rayClusterSpec"}),
    "cluster": ({"authOptions", "autoscalerOptions", "enableInTreeAutoscaling", "rayVersion"},
                {"headGroupSpec", "workerGroupSpecs"}),
    "head": ({"rayStartParams", "serviceType"}, {"template"}),
    "workers": ({"minReplicas", "rayStartParams", "replicas"}, {"groupName", "maxReplicas", "template"}),
}  # fmt: skip


def launcher(name):
    return yaml.safe_load((FOLDER / name).read_text())


@pytest.mark.parametrize("name", ["own-machines.yaml", "cloud.yaml"])
def test_ray_s_launcher_accepts_its_file(name):
    """By the schema that `ray up` asks; a misspelt field is none of it."""
    validate_config(prepare_config(launcher(name)))
    wrong = {**copy.deepcopy(launcher(name)), "worker_start_ray_command": []}
    with pytest.raises(Exception, match="Additional properties are not allowed"):
        validate_config(prepare_config(wrong))


@pytest.mark.parametrize("name", ["own-machines.yaml", "cloud.yaml"])
def test_a_launched_ray_asks_for_its_token(name):
    """On every node, from a file that only its user can read."""
    config = launcher(name)
    assert "~/.ray/auth_token" in config["file_mounts"].values()
    assert "chmod 600 ~/.ray/auth_token" in config["setup_commands"][0]
    for side in ("head", "worker"):
        assert "RAY_AUTH_MODE=token ray start" in config[f"{side}_start_ray_commands"][-1]


def test_the_ray_job_has_what_it_must_and_nothing_misspelt():
    """By the names of its fields."""
    cluster = JOB["spec"]["rayClusterSpec"]
    groups = {"job": [JOB["spec"]], "cluster": [cluster], "head": [cluster["headGroupSpec"]]}
    groups["workers"] = cluster["workerGroupSpecs"]
    assert (JOB["apiVersion"], JOB["kind"]) == ("ray.io/v1", "RayJob")
    for kind, (may, must) in FIELDS.items():
        for group in groups[kind]:
            assert must <= group.keys() <= may | must
    assert cluster["authOptions"] == {"mode": "token"}


def test_every_pod_has_shared_memory_and_mounts_what_it_names():
    """Else Ray's objects, and agents' rows, are squeezed into 64 MB."""
    cluster = JOB["spec"]["rayClusterSpec"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        [container] = pod["containers"]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts.keys() == {volume["name"] for volume in pod["volumes"]} and "/dev/shm" in mounts.values()


def test_the_job_has_room_for_its_agents():
    """A CPU for each of them, on the workers alone."""
    cluster = JOB["spec"]["rayClusterSpec"]
    words = shlex.split(JOB["spec"]["entrypoint"])
    room = [
        group["replicas"] * int(group["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"])
        for group in cluster["workerGroupSpecs"]
    ]
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    assert int(words[words.index("--agents") + 1]) <= sum(room)


def commands():
    """Every `raydream ...` of the page and the manifest."""
    page = re.findall(r"(?m)^    (?:ray job submit .*?-- )?(raydream .+)$", PAGE)
    return [*page, JOB["spec"]["entrypoint"]]


@pytest.mark.parametrize("line", commands())
def test_a_command_parses(line):
    """By the command line itself, without running it."""
    _, name, *words = shlex.split(line)
    command = get_command(app).commands[name]
    assert command.make_context(name, words).params


def test_one_ray_and_one_image_everywhere():
    """The versions in the files agree, and the image has the version of the package."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    texts = [path.read_text() for path in sorted(FOLDER.glob("*")) if path.suffix != ".json"]
    assert {found for text in texts for found in re.findall(r"ray(?:==|Version: |:)(2[\d.]+\d)", text)} == {RAY}
    assert {found for text in texts for found in re.findall(r"raydream:([\d.]+\d)", text)} == {version}


def test_the_image_copies_what_is_there():
    """All that the package is built from."""
    lines = (FOLDER / "Dockerfile").read_text().splitlines()
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[2:-1]]
    assert all((ROOT / word).exists() for word in copied)
    assert {"pyproject.toml", "README.md", "LICENSE", "raydream"} <= set(copied)


def test_the_page_lists_the_files():
    """Each with what was done with it, and no other."""
    listed = re.findall(r"(?m)^\| \[([\w.-]+)\]", PAGE)
    assert sorted(listed) == sorted(path.name for path in FOLDER.iterdir() if path.name != "README.md")
