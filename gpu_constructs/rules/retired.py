"""Ids of rules that are asked no more, and who says now what they said. An id is never used again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpu_constructs.facts.values import dataclass


@dataclass(frozen=True, slots=True)
class Gone:
    """A rule that is asked no more.

    Attributes:
        question: What it asked.
        into: Id of the rule that asks it now; empty where none does.
        said_by: Who says it now, such as a rule of another tool; empty where `into` says it.
    """

    question: str
    into: str = ""
    said_by: str = ""


GONE: Mapping[str, Gone] = {
    "GPU008": Gone("do hosts without a public address run in subnets with another way out?", into="GPU228"),
    "GPU021": Gone("is the request for GPUs written in the form that ECS reads?", into="GPU020"),
    "GPU022": Gone("does each request for GPUs say either how many or how one is shared?", into="GPU020"),
    "GPU026": Gone(
        "is the accelerator one that AWS still offers?",
        said_by="Amazon ECS, RegisterTaskDefinition; cdk-preflight pf-ecs-fargate-inference-accelerator",
    ),
    "GPU029": Gone("does the GPU task run on Linux?", into="GPU028"),
    "GPU031": Gone("does every share of a GPU state a size that ECS takes?", into="GPU020"),
    "GPU035": Gone("does every container have memory?", into="GPU036"),
    "GPU038": Gone("does a container that is to see GPUs also ask ECS for them?", into="GPU025"),
    "GPU041": Gone("can the placement expressions be true together?", into="GPU070"),
    "GPU044": Gone("does ECS take the number, the types and the length of the placement constraints?", into="GPU040"),
    "GPU045": Gone("can one of the instance types that placement expressions name satisfy all of them?", into="GPU070"),
    "GPU048": Gone(
        "are the keys of the task definition and its containers spelled as ECS spells them?",
        said_by="cfn-lint E3002 (templates), the AWS CLI before it sends a task definition",
    ),
    "GPU049": Gone(
        "are all keys of the task definition and its containers known?",
        said_by="cfn-lint E3002 (templates), the AWS CLI before it sends a task definition",
    ),
    "GPU056": Gone("are the hosts launched from a launch template?", into="GPU055"),
    "GPU065": Gone("are the GPUs connected by NVLink if the task needs that?", into="GPU064"),
    "GPU066": Gone("do the GPUs have the compute capability and the number format that the task needs?", into="GPU064"),
    "GPU068": Gone("does one GPU have the memory that containers share through MPS?", into="GPU060"),
    "GPU073": Gone("do the hosts have the Neuron devices that the task asks for?", into="GPU060"),
    "GPU075": Gone("does a task fit some of these hosts, even if hosts of other files may run it?", into="GPU061"),
    "GPU081": Gone(
        "do all workloads of a pool have room together when service auto scaling asks for the most copies?",
        into="GPU080",
    ),
    "GPU090": Gone("does EC2 have the interface type?", into="GPU093"),
    "GPU091": Gone("do the instance types support EFA?", into="GPU092"),
    "GPU094": Gone("do hosts with several interfaces start without a public address?", into="GPU093"),
    "GPU102": Gone("are the values of the requirements among those recorded from the API?", said_by="cfn-lint E3030"),
    "GPU103": Gone(
        "does the ECS API, too, have the values of the requirements?",
        said_by="Amazon ECS, when it creates the capacity provider (ClientException)",
    ),
    "GPU105": Gone("does a new compute environment use another system than Amazon Linux 2?", into="GPU003"),
    "GPU108": Gone("does every allowed pattern match an instance type?", into="GPU051"),
    "GPU109": Gone("does an instance type of the catalogue satisfy the requirements?", into="GPU100"),
    "GPU111": Gone(
        "is MinSize at most MaxSize, and MinvCpus at most MaxvCpus?",
        said_by="cfn-lint E3706 (Auto Scaling groups), cdk-preflight pf-batch-ce-vcpus-order (AWS Batch)",
    ),
    "GPU115": Gone("is each key written once?", said_by="cfn-lint E0000"),
    "GPU118": Gone("does every instance type of the pool take the interfaces of the launch template?", into="GPU092"),
    "GPU119": Gone(
        "are all counts and sizes zero or more?",
        said_by="cfn-lint E3034 and the APIs of Amazon ECS and EC2 Auto Scaling, when they are called",
    ),
    "GPU120": Gone("does the service have either a launch type or a capacity provider strategy?", into="GPU089"),
    "GPU121": Gone("is every capacity provider of a strategy associated with the cluster?", into="GPU217"),
    "GPU129": Gone(
        "is DesiredCapacity within MinSize and MaxSize?",
        said_by="cdk-preflight pf-asg-desired-capacity-range, EC2 Auto Scaling when it creates the group",
    ),
    "GPU133": Gone("does a job ask AWS Batch for whole GPUs?", into="GPU020"),
    "GPU134": Gone(
        "does a GPU job set its vCPUs and its memory?",
        said_by="AWS Batch RegisterJobDefinition (ClientException), "
        "cdk-preflight pf-batch-jd-resource-requirements-required",
    ),
    "GPU135": Gone(
        "do instance requirements either allow instance types or exclude some?",
        said_by="Amazon EC2 Auto Scaling, when it creates the group",
    ),
    "GPU139": Gone("do services for ECS Managed Instances have a capacity provider strategy?", into="GPU218"),
    "GPU141": Gone("does AWS publish the SSM parameter of the machine image?", into="GPU130"),
    "GPU142": Gone("is the machine image of GPU tasks made for ECS on Linux?", into="GPU309"),
    "GPU143": Gone("do the capacity providers of a strategy belong to the cluster of the service?", into="GPU217"),
    "GPU161": Gone("does a mixed instances policy with a Capacity Block have distribution segments?", into="GPU104"),
    "GPU167": Gone("can the schedule of a Capacity Block remove hosts with tasks?", into="GPU165"),
    "GPU168": Gone(
        "does the preference for reservations use the target that is named?",
        said_by="Amazon EC2, when it creates the launch template or the group",
    ),
    "GPU169": Gone("is the zone of the hosts of a Capacity Block known?", into="GPU104"),
    "GPU172": Gone("do hosts that leave the group stay out of the warm pool?", into="GPU170"),
    "GPU173": Gone(
        "do prepared hosts keep the container images that they have pulled?",
        said_by="the page of EC2 about the lifetime of instance stores",
    ),
    "GPU176": Gone("can the hosts wait in the state that the warm pool asks for?", into="GPU170"),
    "GPU180": Gone("can MPS limit what a container takes of these GPUs?", into="GPU032"),
    "GPU186": Gone(
        "do reserved Managed Instances name their Capacity Reservations?",
        said_by="the page of CapacityReservationRequest of Amazon ECS",
    ),
    "GPU189": Gone(
        "are the instance types of ECS Managed Instances either allowed or excluded?",
        said_by="Amazon ECS, when it creates the capacity provider",
    ),
    "GPU194": Gone("do hosts that count their GPUs at boot also boot when they leave the warm pool?", into="GPU193"),
    "GPU196": Gone("does each cluster have one list of capacity providers?", into="GPU195"),
    "GPU201": Gone("is it recorded whether the region has the release of the machine image?", into="GPU200"),
    "GPU202": Gone(
        "is the maximum price of Spot hosts at least the price on demand?",
        said_by="the Spot pricing history of Amazon EC2",
    ),
    "GPU205": Gone(
        "does the task have the container and the port that load balancers send requests to?",
        into="GPU204",
    ),
    "GPU207": Gone("does a task in Service Connect set its memory, with room for the proxy?", into="GPU230"),
    "GPU209": Gone(
        "does a container set only kernel parameters of namespaces that its task has for itself?",
        said_by="Amazon ECS, RegisterTaskDefinition",
    ),
    "GPU214": Gone("is there room for a deployment while the service has its maximum number of copies?", into="GPU010"),
    "GPU215": Gone("does EC2 take the user data?", into="GPU231"),
    "GPU216": Gone("is it known that hosts with EFA run in one Availability Zone?", into="GPU095"),
    "GPU219": Gone(
        "does a run start at most as many tasks at once as RunTask takes?",
        said_by="cfn-lint E3034 (schedules), cdk-preflight pf-events-target-ecs-parameters (rules), RunTask itself",
    ),
    "GPU223": Gone(
        "is there a reserved host for each host that an instance refresh launches before it ends an old one?",
        into="GPU222",
    ),
    "GPU224": Gone("is scaling suspended during a rolling update?", into="GPU221"),
    "GPU225": Gone(
        "does a change reach the hosts that always run?",
        said_by="the page of CloudFormation about the UpdatePolicy attribute",
    ),
    "GPU232": Gone(
        "does the task definition have a container?",
        said_by="cdk-preflight pf-ecs-container-definitions-empty, cfn-lint E3042 (an empty list)",
    ),
    "GPU233": Gone("does the task have every volume that its containers mount?", into="GPU127"),
    "GPU238": Gone("can the hosts mount the file system of EFS with the settings of the task?", into="GPU317"),
    "GPU239": Gone("does a GPU task get its secrets by reference?", said_by="AWS Security Hub ECS.8"),
    "GPU250": Gone(
        "does every container name an image?",
        said_by="Amazon ECS, RegisterTaskDefinition (Container.image should not be null or empty)",
    ),
    "GPU252": Gone("does a group with Spot hosts have room for one?", said_by="the activity of the Auto Scaling group"),
    "GPU255": Gone("does the task have the containers whose volumes and log routing others use?", into="GPU127"),
    "GPU256": Gone("can each container reach the state that another one waits for?", into="GPU127"),
    "GPU265": Gone("can the agent read the metadata of its host?", into="GPU264"),
    "GPU270": Gone("does ECS alone decide how many hosts there are?", into="GPU210"),
    "GPU272": Gone("does the variable that names the cluster have a value?", into="GPU098"),
    "GPU274": Gone("is the size set on the volume that holds container images?", into="GPU268"),
    "GPU276": Gone("may the task execution role read the secrets of the task?", into="GPU257"),
    "GPU278": Gone("do only tasks on Fargate ask for a public address?", into="GPU126"),
    "GPU279": Gone("does a service in Service Connect have a namespace?", into="GPU262"),
    "GPU280": Gone(
        "are the ports of host and container the same in network modes awsvpc and host?",
        said_by="cfn-lint E3053 (awsvpc), cdk-preflight pf-ecs-host-network-host-port-mismatch (host)",
    ),
    "GPU281": Gone("does service auto scaling have the predefined metric?", said_by="cfn-lint E3030"),
    "GPU282": Gone("is a group of hosts in a cluster placement group in one Availability Zone?", into="GPU095"),
    "GPU283": Gone(
        "does ECS take the percentages of a deployment?",
        said_by="cdk-preflight pf-ecs-service-deployment-percent, Amazon ECS when it creates the service",
    ),
    "GPU284": Gone("does a service in Service Connect run elsewhere than on Managed Instances?", into="GPU230"),
    "GPU285": Gone(
        "do load balancers say between what a deployment shifts their traffic?",
        said_by="Amazon ECS, when it creates the service (advancedConfiguration field is required)",
    ),
    "GPU286": Gone("can the machine image have the release that it is pinned to?", into="GPU200"),
    "GPU287": Gone("are the release of the machine image and its driver known?", into="GPU200"),
    "GPU291": Gone("do containers with links share the bridge of their host?", into="GPU127"),
    "GPU292": Gone("are values of resource requirements written as strings?", into="GPU020"),
    "GPU293": Gone("is the timeout of a job one that AWS Batch accepts?", into="GPU350"),
    "GPU297": Gone("are the numbers of managed scaling within the limits of ECS?", said_by="cfn-lint E3034"),
    "GPU299": Gone("is the listener there before the service?", into="GPU298"),
    "GPU302": Gone("has the only provider of a strategy a weight above 0?", into="GPU089"),
    "GPU303": Gone("does something give hosts the custom attributes that tasks are placed by?", into="GPU042"),
    "GPU308": Gone("does a group ask for Spot hosts once?", said_by="Amazon EC2 Auto Scaling, when it launches hosts"),
    "GPU314": Gone("may ECS assume the infrastructure role of Managed Instances?", into="GPU190"),
    "GPU315": Gone("does the scalable target of a service name the cluster and the service?", into="GPU212"),
    "GPU318": Gone(
        "has each service of a cluster a name of its own?",
        said_by="Amazon ECS, when it creates the second service",
    ),
    "GPU320": Gone("are the InfiniBand devices that the task is given those of EFA?", into="GPU132"),
    "GPU322": Gone("does something limit how often a state runs a GPU task again?", into="GPU321"),
    "GPU330": Gone("is the retry strategy of a job one that AWS Batch accepts?", into="GPU350"),
    "GPU340": Gone("can a compute environment have as many hosts as a multi-node job has nodes?", into="GPU296"),
    "GPU341": Gone("do the nodes of a multi-node job name one instance type?", into="GPU362"),
    "GPU343": Gone("are the hosts of a multi-node job with GPUs near each other?", into="GPU095"),
    "GPU344": Gone("can all tasks of a gang run at once?", said_by="nobody; of multi-node jobs of AWS Batch GPU296"),
    "GPU345": Gone(
        "does a gang end when one of its tasks fails or gets no host?",
        said_by="nobody; of multi-node jobs of AWS Batch GPU342, of a state without a time limit GPU321",
    ),
    "GPU346": Gone("does a task mount a file system of EFS that has a policy with its role?", into="GPU237"),
    "GPU348": Gone("do the ranges of a multi-node job end with its last node?", into="GPU355"),
    "GPU349": Gone(
        "can the number of nodes of a multi-node job be another one in a submission?",
        said_by="AWS Batch SubmitJob (ClientException)",
    ),
    "GPU352": Gone(
        "does EventBridge take all capacity providers in the strategy of its target?", said_by="cfn-lint E3032"
    ),
    "GPU353": Gone(
        "does a target of EventBridge that is a queue of AWS Batch say which job it submits?",
        said_by="EventBridge, when it is deployed, and cdk-preflight "
        "pf-events-target-parameters-required (rules with a literal ARN)",
    ),
    "GPU354": Gone("do all instance types of a compute environment have one architecture?", into="GPU357"),
    "GPU356": Gone(
        "does a state wait for a GPU task only in a Standard workflow?",
        said_by="Step Functions, when it is deployed (InvalidDefinition), and cdk-preflight pf-sfn-express-unsupported",
    ),
    "GPU360": Gone("is the machine image an AMI id, or an SSM parameter that is resolved?", said_by="cfn-lint E1152"),
    "GPU361": Gone(
        "does a multi-node job have 5 ranges of nodes at most?",
        said_by="AWS Batch RegisterJobDefinition (ClientException); cdk-preflight pf-batch-jd-node-ranges-max",
    ),
    "GPU367": Gone(
        "are the numbers in the definition of a state machine those that Step Functions accepts?",
        said_by="cfn-lint E3601 (literal definitions), cdk-preflight pf-sfn-asl-numeric-ranges",
    ),
    "GPU368": Gone(
        "does each state of a state machine lead to a state that is there, or to the end?",
        said_by="Step Functions, when it is deployed (InvalidDefinition), and cdk-preflight "
        "pf-sfn-asl-missing-state, pf-sfn-asl-unreachable-state",
    ),
    "GPU369": Gone(
        "are the priorities of GPU jobs and the shares of their queues those that AWS Batch accepts?",
        said_by="AWS Batch CreateSchedulingPolicy and CreateJobQueue (ClientException), "
        "cdk-preflight pf-batch-sp-weight-factor-range, cfn-lint E3034",
    ),
    "GPU371": Gone(
        "do only Task states have TimeoutSeconds and HeartbeatSeconds?",
        said_by="cfn-lint E3601 (literal definitions), cdk-preflight pf-sfn-asl-state-fields",
    ),
    "GPU372": Gone("does the namespace have the metric?", into="GPU376"),
    "GPU373": Gone("does the metric have values under these dimensions?", into="GPU376"),
    "GPU374": Gone(
        "is the value of each dimension a name where the metric has names?",
        said_by="nobody before the deploy; then the alarm stays in INSUFFICIENT_DATA",
    ),
    "GPU375": Gone(
        "does the cluster collect what its Container Insights metrics need?",
        said_by="nobody before the deploy; then the alarm stays in INSUFFICIENT_DATA",
    ),
    "GPU377": Gone(
        "does CloudWatch take the statistic and the periods of the alarm?",
        said_by="CloudWatch, when it is deployed, cfn-lint E3615 and cdk-preflight "
        "pf-cloudwatch-alarm-period (the period)",
    ),
    "GPU378": Gone(
        "can CloudWatch work out the expressions?",
        said_by="CloudWatch, when it is deployed, and cdk-preflight "
        "pf-cloudwatch-metric-query-returndata (the number of results)",
    ),
    "GPU379": Gone(
        "does CloudWatch take the actions of the alarm?",
        said_by="CloudWatch, when it is deployed, and cdk-preflight pf-cloudwatch-alarm-action-vendor (literal ARNs)",
    ),
    "GPU380": Gone(
        "does the alarm take missing values for what they mean?",
        said_by="nobody before the deploy; then the state of the alarm shows it",
    ),
    "GPU381": Gone(
        "can an event of ECS match the pattern?",
        said_by="nobody before the deploy; then MatchedEvents has no values; test-event-pattern tries one",
    ),
    "GPU382": Gone(
        "are all texts of the pattern in lists?",
        said_by="EventBridge, when it is deployed (InvalidEventPatternException), and cdk-preflight "
        "pf-events-pattern-scalar-value",
    ),
    "GPU383": Gone(
        "does the metric filter publish the metric under the dimensions that are read?",
        said_by="nobody before the deploy; then the alarm stays in INSUFFICIENT_DATA",
    ),
    "GPU384": Gone(
        "does the Auto Scaling group publish the metrics that are read of it?",
        said_by="nobody before the deploy; then the alarm stays in INSUFFICIENT_DATA",
    ),
    "GPU385": Gone(
        "is the body of the dashboard JSON?",
        said_by="CloudWatch, when it is deployed (InvalidParameterInput), and cdk-preflight "
        "pf-cloudwatch-dashboard-body-json",
    ),
    "GPU390": Gone("do tasks have room on their hosts beside the daemons there?", into="GPU060"),
    "GPU392": Gone(
        "is the task definition short enough for ECS to register it?",
        said_by="Amazon ECS, RegisterTaskDefinition (Max allowed length is '65536' bytes)",
    ),
}
"""The ids, in their order.

Where `into` is set, what accepts or ignores the old id counts for what that rule finds, but for errors: it asked less.
"""


def id_now(rule: str) -> str:
    """The id of the rule that asks now what a rule asked; empty where none does.

    Args:
        rule: An id in capitals, such as ``GPU002``.
    """
    gone = GONE.get(rule)
    return rule if gone is None else gone.into


def what_became_of(rules: Iterable[str]) -> tuple[str, ...]:
    """A line for each id of a rule that is asked no more.

    Args:
        rules: Ids in capitals; of those that are asked nothing is said.
    """
    return tuple(
        f"{each} is part of {GONE[each].into} now, and accepts no error of it"
        if GONE[each].into
        else f"{each} is retired; reported now by: {GONE[each].said_by}"
        for each in dict.fromkeys(rules)
        if each in GONE
    )
