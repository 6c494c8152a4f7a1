"""The state machine of a training on a cluster of ECS: the main host first, then the others, and all ended as one.

ECS starts each task by itself, so the machine makes a gang of them. Three branches run at once: the main task; the
others, which start when the main one runs and its address is known; and a look, once, at whether all have started in
time. The first that ends ends all three, what still runs is stopped, and its end is read like that of any job.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_constructs.cdk.arguments import in_words
from gpu_constructs.cdk.state_parts import (
    State,
    call_ecs,
    choice_state,
    fail_state,
    is_there,
    pass_state,
    text_is,
    text_matches,
)
from gpu_constructs.jobs.job_run import JobRetries, JobRun
from gpu_constructs.jobs.states import (
    IS_OURS,
    Cause,
    each_of_page,
    host_is_lost,
    machine_of,
    pages_of_tasks,
    run_task,
    stop_tasks,
    time_limit,
)

_LOOK_SECONDS = 15
# So often at most within the time that hosts may take, because an execution has room for 25,000 events.
_MAIN_LOOKS = 30
# A host that was lost makes the others fail: what ECS says of it comes first, and counts. No page of AWS says how long
# ECS takes to see it; a host that EC2 ends is gone from the cluster within a minute or two.
_MAIN_SECONDS = 180
# A host that fails may do so because the main one has ended or failed, whose own end comes first, and counts.
_OTHER_SECONDS = 240
_ENDED, _LATE, _TIME = "TaskEnded", "NotTogether", "TimeLimit"
_STOPPED = "the training has ended on another host"
RESERVED = "AWS_BATCH"
"""How the variables begin that the launcher reads."""
# In AWS Batch's words.
_RANK, _WORLD, _MAIN, _ADDRESS = (
    "AWS_BATCH_JOB_NODE_INDEX",
    "AWS_BATCH_JOB_NUM_NODES",
    "AWS_BATCH_JOB_MAIN_NODE_INDEX",
    "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS",
)
_OF_ATTEMPT = {
    "AWS_BATCH_JOB_ID": "$$.Execution.Name",
    "AWS_BATCH_JOB_ATTEMPT": "States.Format('{}', States.MathAdd($.retries.Attempt, 1))",
}


GANG_VARIABLES = (_RANK, _WORLD, _MAIN, _ADDRESS, *_OF_ATTEMPT)
"""Variables that each task of a gang gets besides those of a job, the main one all but the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """Tasks that run as one, each on a host of its own.

    Attributes:
        run: What each of them runs.
        hosts: How many there are.
        start_seconds: How long they may take until all run.
    """

    run: JobRun
    hosts: int
    start_seconds: int


def attempts_of(retries: JobRetries) -> int:
    """How often a gang runs at most: not to come together is counted apart."""
    return retries.attempts + retries.no_host


def gang_definition_of(gang: Gang, retries: JobRetries) -> State:
    """The definition of the state machine."""
    run = gang.run
    failed = ("TasksNotStopped", "the training ended")
    running: State = {
        "Type": "Parallel",
        "Branches": [_main(gang), _others(gang), _look(gang)],
        "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Settle"}],
        "Next": "NotAccepted",
    }
    late = Cause(
        name=_LATE,
        when=text_is("$.error.Error", _LATE),
        retries=retries.no_host,
        words=f"not all {gang.hosts} hosts ran<times> within {in_words(gang.start_seconds)}",
        pause="LongPause",
        of_task=False,
    )
    return machine_of(
        run,
        retries,
        states={
            "Run": running,
            # A task that was being started is in the list by then.
            "Settle": _wait(_LOOK_SECONDS, "FindTasks"),
            **stop_tasks(run, _STOPPED, following="Why", failed=failed),
        },
        rules=[
            {**text_is("$.error.Error", _TIME), "Next": _TIME},
            {**text_is("$.error.Error", _ENDED), "Next": "Read"},
        ],
        causes=[late],
    )


def _main(gang: Gang) -> State:
    """Runs the main task; every end is an error, because it ends the other branches."""
    run = gang.run
    numbers = {_RANK: "States.Format('{}', 0)", **_world(gang)}
    states = {
        "Main": {
            **run_task(run, numbers),
            "TimeoutSeconds": run.timeout_seconds,
            "Catch": [
                {"ErrorEquals": ["States.Timeout"], "ResultPath": "$.error", "Next": "MainIsLate"},
                {"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "MainFailed"},
            ],
            "Next": "MainEnded",
        },
        "MainEnded": _raised("States.JsonToString($.ended.task)"),
        "MainIsLate": fail_state(_TIME, time_limit(run)),
        "MainFailed": choice_state([{**_is_of_task(), "Next": "OthersFirst"}], "MainNotRun"),
        "OthersFirst": _wait(_MAIN_SECONDS, "MainSays"),
        "MainSays": _raised("$.error.Cause"),
        "MainNotRun": _passed_on(),
    }
    return {"StartAt": "Main", "States": states}


def _others(gang: Gang) -> State:
    """Waits until the main task runs, and runs the others with its address."""
    run = gang.run
    each = {
        "IsOurMain": choice_state([{**IS_OURS, "Next": "IsMain"}], "IsOfAnother"),
        "IsMain": {"Type": "Pass", "Parameters": {"is": "main", "arn.$": "$.arn"}, "End": True},
        "IsOfAnother": {"Type": "Pass", "Parameters": {"is": "another"}, "End": True},
    }
    asked = {"Cluster": run.cluster, "Tasks.$": "$.arns"}
    interface = "$.Tasks[*].Containers[*].NetworkInterfaces[*].PrivateIpv4Address"
    running = text_is("$.main.status[0]", "RUNNING")
    states = {
        "WaitForMain": _wait(_LOOK_SECONDS, "FindMain"),
        **pages_of_tasks(run, "Main", found="WhichIsMain", rest="WaitForMain"),
        "WhichIsMain": {**each_of_page(each, start="IsOurMain", result="$.each"), "Next": "MainArn"},
        "MainArn": pass_state({"arns.$": "$.each[?(@.is == 'main')].arn", "retries.$": "$.retries"}, "$", "AskMain"),
        "AskMain": {
            **call_ecs(run.partition, "describeTasks", asked),
            "ResultSelector": {"status.$": "$.Tasks[*].LastStatus", "addresses.$": interface},
            "ResultPath": "$.main",
            "Next": "MainRuns",
        },
        "MainRuns": choice_state(
            [{"And": [is_there("$.main.status[0]"), running, is_there("$.main.addresses[0]")], "Next": "Ranks"}],
            "MainWaits",
        ),
        "MainWaits": _wait(max(_LOOK_SECONDS * 2, gang.start_seconds // _MAIN_LOOKS), "AskMain"),
        "Ranks": {"Type": "Pass", "Result": list(range(1, gang.hosts)), "ResultPath": "$.ranks", "Next": "Others"},
        "Others": {
            "Type": "Map",
            "ItemsPath": "$.ranks",
            "ItemSelector": {
                "rank.$": "$$.Map.Item.Value",
                "address.$": "$.main.addresses[0]",
                "retries.$": "$.retries",
            },
            "ItemProcessor": _other(gang),
            "ResultPath": "$.others",
            "End": True,
        },
    }
    return {"StartAt": "WaitForMain", "States": states}


def _other(gang: Gang) -> State:
    """Runs one of the others, which fails the training if it fails."""
    numbers = {_RANK: "States.Format('{}', $.rank)", **_world(gang), _ADDRESS: "$.address"}
    code = "$.ended.task.StopCode"
    lost = {**host_is_lost("$.ended.task"), "Next": "OtherLost"}
    exited = {"And": [is_there(code), text_is(code, "EssentialContainerExited")], "Next": "MainFirst"}
    states = {
        "Other": {
            **run_task(gang.run, numbers),
            "TimeoutSeconds": gang.run.timeout_seconds,
            "Catch": [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "OtherFailed"}],
            "Next": "OtherEnded",
        },
        "OtherEnded": choice_state([lost], "OtherDone"),
        "OtherLost": _raised("States.JsonToString($.ended.task)"),
        # Together, the descriptions of all would be too much for the end of the map.
        "OtherDone": {"Type": "Succeed", "OutputPath": "$.rank"},
        "OtherFailed": choice_state([{**_is_of_task(), "Next": "ReadOther"}], "OtherNotRun"),
        "ReadOther": pass_state({"task.$": "States.StringToJson($.error.Cause)"}, "$.ended", "HowOtherEnded"),
        "HowOtherEnded": choice_state([exited], "OtherSays"),
        "MainFirst": _wait(_OTHER_SECONDS, "OtherSays"),
        "OtherSays": _raised("$.error.Cause"),
        "OtherNotRun": _passed_on(),
    }
    return {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "Other", "States": states}


def _look(gang: Gang) -> State:
    """Looks once whether all tasks run: ECS lets those that came first wait for the others as long as it likes."""
    late = "$.Tasks[?(@.LastStatus != 'RUNNING')].Group"
    states = {
        "WaitForAll": _wait(gang.start_seconds, "FindAll"),
        **pages_of_tasks(gang.run, "All", found="IsLate", rest="AllRun", groups=late),
        "IsLate": fail_state(_LATE, f"a task did not run within {in_words(gang.start_seconds)}"),
        "AllRun": {"Type": "Succeed"},
    }
    return {"StartAt": "WaitForAll", "States": states}


def _world(gang: Gang) -> dict[str, str]:
    return {_WORLD: f"States.Format('{{}}', {gang.hosts})", _MAIN: "States.Format('{}', 0)", **_OF_ATTEMPT}


def _is_of_task() -> State:
    """Whether the error is that of a task, whose description is the cause."""
    return {"And": [text_is("$.error.Error", "States.TaskFailed"), text_matches("$.error.Cause", "{*")]}


def _raised(cause: str) -> State:
    return {"Type": "Fail", "Error": _ENDED, "CausePath": cause}


def _passed_on() -> State:
    return {"Type": "Fail", "ErrorPath": "$.error.Error", "CausePath": "$.error.Cause"}


def _wait(seconds: int, following: str) -> State:
    return {"Type": "Wait", "Seconds": seconds, "Next": following}
