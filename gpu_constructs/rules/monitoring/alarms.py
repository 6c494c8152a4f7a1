"""Alarms: does CloudWatch take them, and do they say what they are meant to say?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from gpu_constructs.budget import brief
from gpu_constructs.fleet import MetricUse, Unknown, Watch, Watcher, Workload
from gpu_constructs.hardware.cloudwatch import is_slip_of, namespace_facts
from gpu_constructs.rules.context import Context
from gpu_constructs.rules.evidence.lists import and_list, or_list
from gpu_constructs.rules.evidence.metric_math import FUNCTIONS, MetricMath, metric_math
from gpu_constructs.rules.rule import Problem, Problems, error, warning

_API = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html"
_STATISTICS = ("Average", "Maximum", "Minimum", "SampleCount", "Sum")
_EXTENDED = re.compile(
    r"(?:p|tm|tc|ts|wm)(?:100(?:\.0{1,10})?|[0-9]{1,2}(?:\.[0-9]{1,10})?)|iqm|(?:pr|tc|tm|ts|wm)\([^()]{0,60}\)",
    re.IGNORECASE,
)
_SHORT_PERIODS = frozenset({10, 20, 30})
_ID = re.compile(r"[a-z][A-Za-z0-9_]*")
_MINUTE, _HOUR, _DAY, _WEEK = 60, 3_600, 86_400, 604_800
_MOST_ACTIONS = 5
_MOST_IDS = 20
_ARN = re.compile(r"arn:[^:]{0,20}:([^:]{1,40}):")
_SERVICES = frozenset({"aiops", "autoscaling", "automate", "lambda", "sns", "ssm", "ssm-incidents", "swf"})
_OF_COMPOSITES = frozenset({"aiops", "lambda", "sns", "ssm", "ssm-incidents"})
# References whose value is certainly not the ARN of an action, by the type of the resource and its attribute.
_REFUSED = """
    AWS::Events::EventBus AWS::Events::EventBus.Arn AWS::Events::EventBus.Name AWS::Events::Rule AWS::Events::Rule.Arn
    AWS::Lambda::Function AWS::Logs::LogGroup AWS::Logs::LogGroup.Arn AWS::SNS::Topic.TopicName
    AWS::Serverless::Function AWS::SQS::Queue AWS::SQS::Queue.Arn AWS::SQS::Queue.QueueName
    AWS::StepFunctions::StateMachine AWS::StepFunctions::StateMachine.Arn AWS::StepFunctions::StateMachine.Name
"""
_REFUSED_TYPES: Final = frozenset(_REFUSED.split())
_BREACHING, _DEFAULT = "breaching", "missing"
_ABOVE = frozenset({"GreaterThanThreshold", "GreaterThanOrEqualToThreshold"})
_BELOW = frozenset({"LessThanThreshold", "LessThanOrEqualToThreshold"})


@error(
    "GPU377",
    question="does CloudWatch take the statistic and the periods of the alarm?",
    because="PutMetricAlarm refuses other statistics, an extended one outside ExtendedStatistic, fewer than one "
    "period, periods other than 10, 20 and 30 seconds and multiples of 60, and more than a day of values, or seven "
    "days where a period is an hour or more; more values beyond the threshold than are looked at never come together",
    source=_API,
)
def statistic_and_period(context: Context) -> Problems:
    for watch in context.fleet.watches:
        if watch.watcher is Watcher.DASHBOARD:
            continue
        yield from _property_of_statistic(watch)
        for use in watch.metrics:
            yield from _statistic(watch, use)
            if watch.watcher is Watcher.ALARM:
                yield from _period(watch, use)
        periods, datapoints = watch.evaluation_periods, watch.datapoints
        for key, count in (("EvaluationPeriods", periods), ("DatapointsToAlarm", datapoints)):
            if isinstance(count, int) and count < 1:
                yield Problem(
                    about=watch,
                    property_name=key,
                    value=count,
                    message=f"{watch.name} has {key} {count}",
                    allowed="1 or more",
                    fix=f"{key} of 1 or more",
                )
        if isinstance(periods, int) and isinstance(datapoints, int) and datapoints > periods > 0:
            yield Problem(
                about=watch,
                property_name="DatapointsToAlarm",
                value=datapoints,
                message=f"{watch.name} waits for {datapoints} values beyond the threshold out of {periods}",
                allowed=f"1 to {periods}",
                fix=f"up to {periods}, or more EvaluationPeriods",
            )


def _property_of_statistic(watch: Watch) -> Iterator[Problem]:
    """A statistic in the other property, in both or in none of an alarm on one metric."""
    if watch.statistics is None or any(isinstance(each, Unknown) for each in watch.statistics):
        return
    simple, extended = watch.statistics
    if simple is None and extended is None:
        wrong, fix = "has neither Statistic nor ExtendedStatistic", "Statistic: Average, or another one"
    elif simple is not None and extended is not None:
        wrong, fix = "has both Statistic and ExtendedStatistic", "one of the two"
    elif simple is not None and _EXTENDED.fullmatch(str(simple)):
        wrong = f"has the Statistic {brief(str(simple))}, which is an extended one"
        fix = f"ExtendedStatistic: {brief(str(simple))}"
    elif extended in _STATISTICS:
        wrong, fix = f"has the ExtendedStatistic {extended}, which is not an extended one", f"Statistic: {extended}"
    else:
        return
    yield Problem(
        about=watch,
        property_name="Statistic" if extended is None else "ExtendedStatistic",
        value=simple if extended is None else extended,
        message=f"{watch.name} {wrong}",
        allowed="one of Statistic and ExtendedStatistic",
        fix=fix,
    )


def _statistic(watch: Watch, use: MetricUse) -> Iterator[Problem]:
    statistic = use.statistic
    if not isinstance(statistic, str) or statistic in _STATISTICS or _EXTENDED.fullmatch(statistic):
        return
    meant = next((each for each in _STATISTICS if is_slip_of(statistic, each)), "")
    yield Problem(
        about=watch.name,
        origin=use.origin,
        property_name="Stat" if use.id else "Statistic",
        value=statistic,
        message=f"{watch.name} asks for the statistic {brief(statistic)} of {use.name}",
        allowed=f"{', '.join(_STATISTICS)}, or an extended one such as p99",
        fix=meant or or_list(_STATISTICS),
    )


def _period(watch: Watch, use: MetricUse) -> Iterator[Problem]:
    period, count = use.period, watch.evaluation_periods
    if not isinstance(period, int):
        return
    if period <= 0 or (period not in _SHORT_PERIODS and period % _MINUTE):
        yield Problem(
            about=watch.name,
            origin=use.origin,
            property_name="Period",
            value=period,
            message=f"{watch.name} has a period of {period} seconds",
            allowed="10, 20, 30 or a multiple of 60",
            fix="a multiple of 60",
        )
        return
    most = _DAY if period < _HOUR else _WEEK
    if isinstance(count, int) and period * count > most:
        yield Problem(
            about=watch,
            property_name="EvaluationPeriods",
            value=count,
            message=f"{watch.name} looks at {count} periods of {period} seconds, {period * count:,} seconds in all",
            allowed=f"up to {most:,} seconds together",
            fix=f"up to {most // period} EvaluationPeriods, or a period of an hour or more",
        )


@error(
    "GPU378",
    question="can CloudWatch work out the expressions?",
    because="an expression names the ids of metrics and expressions of the same alarm or graph, with functions in "
    "capitals; PutMetricAlarm refuses any other, a search, and anything but one result, and a graph shows an error in "
    "its place",
    source="https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html",
)
def expressions_work(context: Context) -> Problems:
    for watch in context.fleet.watches:
        for each in watch.expressions:
            read = metric_math(each.text) if isinstance(each.text, str) else None
            wrong, fix = ("", "") if read is None else _wrong(read, each.ids, watch)
            if wrong:
                yield Problem(
                    about=watch.name,
                    origin=each.origin,
                    property_name="Expression",
                    value=each.text,
                    message=f"the expression {brief(str(each.text))} of {watch.name} {wrong}",
                    fix=fix,
                )
        if watch.watcher is Watcher.ALARM:
            yield from _ids(watch)
        if isinstance(watch.results, int) and watch.results != 1:
            yield Problem(
                about=watch,
                property_name="Metrics",
                value=watch.results,
                message=f"{watch.name} watches the results of {watch.results} queries: without ReturnData each is one",
                allowed="one",
                fix="ReturnData true for the one to watch, and false for each other",
            )


def _ids(watch: Watch) -> Iterator[Problem]:
    """Ids that are there twice, or do not begin with a small letter.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataQuery.html
    """
    ids = (*(each.id for each in watch.metrics), *(each.id for each in watch.expressions))
    counts = Counter(each for each in ids if each)
    for each, count in counts.items():
        if count > 1 or not _ID.fullmatch(each):
            yield Problem(
                about=watch,
                property_name="Id",
                value=each,
                message=f"{watch.name} has {count} queries with the id {brief(each)}"
                if count > 1
                else f"{watch.name} has a query with the id {brief(each)}, which CloudWatch does not accept",
                allowed="a small letter, then letters, digits and underscores, once in each alarm",
                fix="another id" if count > 1 else "an id such as m1",
            )
            return


def _wrong(read: MetricMath, ids: frozenset[str] | Unknown, watch: Watch) -> tuple[str, str]:
    """What is wrong with an expression, and what would help."""
    if read.problem:
        return f"cannot be read: {read.problem}", "an expression such as 100 * m1 / m2"
    small = sorted(each for each in read.functions if each not in FUNCTIONS and each.upper() in FUNCTIONS)
    if small:
        return f"calls {small[0]}, and functions are written in capitals", small[0].upper()
    if watch.watcher is Watcher.ALARM and "SEARCH" in read.functions:
        return "searches for metrics, which an alarm cannot", "the metrics themselves, each with an id"
    missing = [] if isinstance(ids, Unknown) else [each for each in read.names if each not in ids]
    if not missing or isinstance(ids, Unknown):
        return "", ""
    if len(ids) > _MOST_IDS:
        there = f"none of the {len(ids):,} ids there is that"
    else:
        there = f"the ids there are {and_list(sorted(ids))}" if ids else "nothing there has an id"
    return f"names {brief(missing[0])}, and {there}", f"a metric with the id {brief(missing[0])}"


@error(
    "GPU379",
    question="does CloudWatch take the actions of the alarm?",
    because=f"an alarm takes up to {_MOST_ACTIONS} actions for each state, as ARNs: topics of Amazon SNS, Lambda "
    "functions, scaling policies, EC2 actions and those of Systems Manager; a queue, an event bus or a state machine "
    "is refused, and a composite alarm scales and stops nothing",
    softer="for an empty text, which the default of a parameter often is",
    source=_API,
)
def actions_are_taken(context: Context) -> Problems:
    for watch in context.fleet.watches:
        for key, actions in watch.actions:
            if len(actions) > _MOST_ACTIONS:
                yield Problem(
                    about=watch,
                    property_name=key,
                    value=len(actions),
                    message=f"{watch.name} has {len(actions)} {key}",
                    allowed=f"up to {_MOST_ACTIONS}",
                    fix="one topic of Amazon SNS that all of them follow",
                )
            for each in actions:
                if each == "":
                    yield Problem(
                        about=watch,
                        property_name=key,
                        value=each,
                        message=f"{watch.name} has an empty text among its {key}",
                        fix="the ARN of a topic of Amazon SNS, or a condition that leaves it out",
                        is_certain=False,
                    )
                elif isinstance(each, str) and (wrong := _refused(each, watch.watcher)):
                    yield Problem(
                        about=watch,
                        property_name=key,
                        value=each,
                        message=f"{watch.name} has {wrong} among its {key}",
                        allowed="the ARN of a topic, a Lambda function, a scaling policy or an EC2 action",
                        fix="a topic of Amazon SNS, or a rule of EventBridge on “CloudWatch Alarm State Change”",
                    )


def _refused(action: str, watcher: Watcher) -> str:
    """What an action is that an alarm does not take; empty where it may take it."""
    if "::" in action and not action.startswith("arn:"):
        return f"a reference to {action}" if action in _REFUSED_TYPES else ""
    found = _ARN.match(action)
    if found is None:
        return "" if "?" in action or action.startswith("arn:") else f"{brief(action)}, which is not an ARN,"
    service = found[1]
    allowed = _OF_COMPOSITES if watcher is Watcher.COMPOSITE else _SERVICES
    return "" if service in allowed or "?" in service else f"{brief(action)}"


@warning(
    "GPU380",
    question="does the alarm take missing values for what they mean?",
    because="a metric that is only sent while something happens has no values the rest of the time, and so has a "
    "service without running tasks: with breaching an alarm above a threshold is then always on, and without it one "
    "below a threshold stays silent",
    source="https://docs.aws.amazon.com/AmazonECS/latest/developerguide/available-metrics.html",
    unless=("GPU372", "GPU373"),
)
def missing_values(context: Context) -> Problems:
    workloads = {each.name: each for each in context.fleet.workloads}
    for watch in context.fleet.watches:
        if watch.watcher is not Watcher.ALARM or watch.expressions or len(watch.metrics) != 1:
            continue
        (use,) = watch.metrics
        why = _always_on(watch, use, workloads.get(use.workload)) or _always_silent(watch, use)
        if why:
            message, fix = why
            yield Problem(
                about=watch,
                property_name="TreatMissingData",
                value=watch.missing,
                message=f"{watch.name} {message}",
                fix=f"TreatMissingData: {fix}",
            )


def _always_on(watch: Watch, use: MetricUse, workload: Workload | None) -> tuple[str, str] | None:
    facts = namespace_facts(use.namespace)
    metric = None if facts is None or isinstance(use.name, Unknown) else facts.metrics.get(use.name)
    if watch.missing != _BREACHING or watch.comparison not in _ABOVE or metric is None:
        return None
    if metric.is_sparse:
        return f"is on whenever nothing happens: {metric.name} is not sent while it is zero", "notBreaching"
    may_be_none = workload is not None and (workload.desired_count == 0 or workload.min_count == 0)
    if workload is not None and may_be_none and use.namespace == "AWS/ECS":
        return f"is on whenever {workload.name} has no copies: ECS then sends no {metric.name}", "notBreaching"
    return None


def _always_silent(watch: Watch, use: MetricUse) -> tuple[str, str] | None:
    counts = use.namespace == "AWS/ECS" and use.statistic == "SampleCount"
    if not counts or watch.comparison not in _BELOW or isinstance(watch.missing, Unknown):
        return None
    if (watch.missing or _DEFAULT) == _BREACHING:
        return None
    message = (
        f"counts running tasks, and says nothing once there are none: ECS then sends no {use.name}, and missing "
        f"values are {watch.missing or _DEFAULT}"
    )
    return message, _BREACHING
