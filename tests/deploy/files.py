#!/usr/bin/env python3
"""What the chart, the compose file, the image and nginx promise, and that they promise the same.

usage: tests/deploy/files.py BINARY
"""

import json
import pathlib
import re
import subprocess
import sys

import helm_python as helm
import kubernetes_validate
import yaml

BINARY = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
# The oldest version that the chart accepts, and the newest one whose schemas are at hand.
KUBERNETES = ["1.25", "1.37"]
USER = 65532
LEAST = {"database": {"existingSecret": "twig-database"}}
MOST = LEAST | {
    "replicas": 5,
    "image": {"repository": "registry.example/twig", "digest": "sha256:" + "a" * 64},
    "imagePullSecrets": [{"name": "registry"}],
    "token": {"existingSecret": "twig-token"},
    "sessionKey": {"existingSecret": "twig-session"},
    "hosts": ["prompts.example.com", "prompts.example.org"],
    "drainMillis": 20000,
    "settings": {"TWIG_STORE_SERVE": "true", "TWIG_HTTP_ADDRESS_CONNECTIONS": "4096"},
    "config": '[serve]\nonly = ["team"]\n',
    "migrate": {"existingSecret": "twig-owner", "appRole": "twig_app", "backupRole": "twig_backup"},
    "service": {"type": "LoadBalancer", "port": 80, "annotations": {"example.com/is": "inner"}},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "prompts-tls"},
    "networkPolicy": {
        "enabled": True,
        "from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress-nginx"}}}],
        "adminFrom": [{"podSelector": {"matchLabels": {"app": "prometheus"}}}],
    },
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "spot", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "podAnnotations": {"example.com/team": "prompts"},
    "extraVolumes": [{"name": "team", "configMap": {"name": "team-prompts"}}],
    "extraVolumeMounts": [{"name": "team", "mountPath": "/data/twig/prompts/team"}],
}
checks = []


def check(function):
    checks.append(function)
    return function


def render(values, release="twig"):
    """The objects of the chart by kind, and all of its text."""
    with helm.Chart.load(str(DEPLOY / "chart")) as chart:
        chart.validate_schema(values)
        rendered = chart.render(values, name=release, namespace="prompts", is_install=True)
    objects = [
        found
        for name, text in rendered.items()
        if name.endswith(".yaml")
        for found in yaml.safe_load_all(text)
        if found
    ]
    by_kind = {found["kind"]: found for found in objects}
    assert len(by_kind) == len(objects), "two objects of one kind"
    return by_kind, "\n".join(rendered.values())


def pods(objects):
    return [objects["Deployment"]["spec"]["template"]["spec"], objects["Job"]["spec"]["template"]["spec"]]


def environment(container):
    return {it["name"]: it.get("value", it.get("valueFrom")) for it in container["env"]}


def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


@check
def helm_finds_nothing_to_say_about_the_chart():
    for values in (LEAST, MOST):
        found = helm.lint(str(DEPLOY / "chart"), values, strict=True, namespace="prompts")
        # 1 is advice, such as an icon.
        worse = [it for it in found["messages"] if it["severity"] > 1]
        assert found["total_charts_linted"] == 1 and not found["errors"] and not worse, found


@check
def kubernetes_knows_every_field_of_every_object():
    for values, release in ((LEAST, "twig"), (MOST, "a-very-long-release-name-that-fills-the-space-it-has")):
        objects, _ = render(values, release)
        for version in KUBERNETES:
            for found in objects.values():
                kubernetes_validate.validate(found, version, strict=True)
                assert len(found["metadata"]["name"]) <= 63, found["metadata"]["name"]


@check
def the_least_is_a_secret_for_the_database():
    objects, _ = render(LEAST)
    assert set(objects) == {"Deployment", "Service", "PodDisruptionBudget", "Job"}, set(objects)
    assert set(render(MOST)[0]) == set(objects) | {"Ingress", "NetworkPolicy", "ConfigMap"}
    for wrong, text in (
        ({}, "database.existingSecret"),
        (LEAST | {"replica": 3}, "replica"),
        (LEAST | {"replicas": 0}, "replicas"),
        (LEAST | {"ingress": {"enabled": True}}, "hosts"),
        (LEAST | {"settings": {"TWIG_TOKEN": "secret"}}, "TWIG_TOKEN"),
        (LEAST | {"settings": {"TWIG_STORE_URL": "postgres://…"}}, "TWIG_STORE_URL"),
        (LEAST | {"drainMillis": "8s"}, "drainMillis"),
    ):
        try:
            render(wrong)
        except helm.HelmError as error:
            assert text in str(error), error
        else:
            raise AssertionError(f"accepted {wrong}")


@check
def pods_have_no_right_that_they_do_not_need():
    for values in (LEAST, MOST):
        for pod in pods(render(values)[0]):
            context = pod["securityContext"]
            assert context["runAsNonRoot"] is True and context["runAsUser"] == context["runAsGroup"] == USER
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}
            assert pod["automountServiceAccountToken"] is False
            # Else a Service named `twig` would set variables such as TWIG_PORT.
            assert pod["enableServiceLinks"] is False
            (container,) = pod["containers"]
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True and context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]
            assert "hostPath" not in str(pod) and "hostNetwork" not in pod
            emptied = {it["name"] for it in pod["volumes"] if "emptyDir" in it}
            writable = {it["mountPath"] for it in container["volumeMounts"] if not it.get("readOnly")}
            assert {"/data", "/tmp"} <= writable and emptied == {"data", "tmp"}, writable


@check
def secrets_are_files_or_references():
    for values in (LEAST, MOST):
        objects, text = render(values)
        assert "Secret" not in objects and "postgres://" not in text
        for pod in pods(objects):
            variables = environment(pod["containers"][0])
            for name, value in variables.items():
                if re.search(r"TOKEN|URL|KEY", name):
                    from_file = isinstance(value, str) and name.endswith("_FILE") and value.startswith("/run/secrets/")
                    assert from_file or "secretKeyRef" in value, f"{name}: {value}"
            for volume in pod["volumes"]:
                if "secret" in volume:
                    assert volume["secret"]["defaultMode"] == 0o440, volume
    names = [it["secret"]["secretName"] for it in pods(objects)[0]["volumes"] if "secret" in it]
    assert names == ["twig-database", "twig-token"]
    names = [it["secret"]["secretName"] for it in pods(objects)[1]["volumes"] if "secret" in it]
    assert names == ["twig-owner"]


@check
def probes_ask_the_admin_listener():
    container = pods(render(LEAST)[0])[0]["containers"][0]
    ports = {it["name"]: it["containerPort"] for it in container["ports"]}
    assert ports == {"http": 7373, "admin": 9373}
    assert container["args"] == ["serve", "--http", "0.0.0.0:7373", "--admin", "0.0.0.0:9373"]
    for probe, path in (("startupProbe", "/readyz"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "admin"}, probe


@check
def pods_drain_before_they_end():
    for drain in (0, 8000, 20000, 61500):
        objects, _ = render(LEAST | {"drainMillis": drain})
        pod = pods(objects)[0]
        assert environment(pod["containers"][0])["TWIG_HTTP_DRAIN_MILLIS"] == str(drain)
        # 13 seconds for requests under way.
        assert pod["terminationGracePeriodSeconds"] * 1000 >= drain + 13_000 + 5_000
    probe = pods(render(LEAST)[0])[0]["containers"][0]["readinessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] * 1000 < 8000
    assert objects["Deployment"]["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


@check
def nothing_is_sticky_and_nothing_is_buffered():
    objects, text = render(MOST)
    assert objects["Service"]["spec"]["sessionAffinity"] == "None"
    assert not re.search(r"sticky|session-cookie|affinity-mode|ingress\.kubernetes\.io/affinity|upstream-hash", text)
    annotations = objects["Ingress"]["metadata"]["annotations"]
    prefix = "nginx.ingress.kubernetes.io/"
    nginx = (DEPLOY / "nginx.conf").read_text()
    for key, value in annotations.items():
        line = f"{key.removeprefix(prefix).replace('-', '_')} {value};"
        same = {"proxy_read_timeout 3600;": "proxy_read_timeout 1h;", "proxy_body_size 64m;": "client_max_body_size 64m;"}
        assert same.get(line, line) in nginx, line
    assert annotations[f"{prefix}proxy-buffering"] == "off"
    assert "non_idempotent;" not in nginx
    # But browsers stay with the replica that knows their key.
    page = "\nupstream twig_page {"
    sticky = [part for part in re.split(r"(?=\n\w)", nginx) if re.search(r"^\s*(ip_hash|hash|sticky)\b", part, re.MULTILINE)]
    assert len(sticky) == 1 and sticky[0].startswith(page), sticky
    assert re.findall(r"location (\S+) {\s*proxy_pass http://(\w+);", nginx) == [("/", "twig"), ("/page/", "twig_page")]
    hosts = [it["host"] for it in objects["Ingress"]["spec"]["rules"]]
    allowed = environment(pods(objects)[0]["containers"][0])["TWIG_HTTP_ALLOW_HOST"].split(",")
    assert hosts == MOST["hosts"] and set(hosts) < set(allowed) and "twig.prompts.svc" in allowed, allowed


@check
def selectors_choose_the_pods_and_no_others():
    objects, _ = render(MOST)
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"]
    selectors = [
        objects["Service"]["spec"]["selector"],
        objects["Deployment"]["spec"]["selector"]["matchLabels"],
        objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        objects["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        pods(objects)[0]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
    ]
    migrating = objects["Job"]["spec"]["template"]["metadata"]["labels"]
    for selector in selectors:
        assert selector.items() <= labels.items(), selector
        assert not selector.items() <= migrating.items(), "requests would be sent to the Job"
    assert objects["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1
    assert objects["Deployment"]["spec"]["replicas"] == 5 and render(LEAST)[0]["Deployment"]["spec"]["replicas"] == 2


@check
def tables_are_migrated_before_pods_are_replaced():
    job = render(MOST)[0]["Job"]
    annotations = job["metadata"]["annotations"]
    assert annotations["helm.sh/hook"] == "pre-install,pre-upgrade"
    arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments == ["store", "migrate", "--app-role", "twig_app", "--backup-role", "twig_backup"]
    assert render(LEAST)[0]["Job"]["spec"]["template"]["spec"]["containers"][0]["args"] == ["store", "migrate"]
    # A hook runs before other objects are there.
    assert "configMap" not in str(job)


@check
def every_command_is_one_of_twig():
    # Without the values of flags: help is what is asked for.
    values = {"0.0.0.0:7373", "0.0.0.0:9373", "twig_app", "twig_backup"}
    commands = [pod["containers"][0]["args"] for pod in pods(render(MOST)[0])]
    for arguments in [*commands, compose()["services"]["migrate"]["command"]]:
        words = [it for it in arguments if it not in values and not it.startswith("--")]
        done = subprocess.run([BINARY, *words, "--help"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for flag in arguments:
            if flag.startswith("--"):
                assert flag in done.stdout, f"`twig {' '.join(words)}` has no {flag}"


@check
def every_variable_is_one_that_twig_knows():
    texts = [subprocess.run([BINARY, "help", page], capture_output=True, text=True, check=True).stdout for page in ("config", "team")]
    known = set(re.findall(r"TWIG_[A-Z_]+", "\n".join(texts)))
    assert len(known) > 60, known
    # A placeholder of the compose file, given by who starts it.
    own = {"TWIG_HOST"}
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            unknown = {it for it in re.findall(r"\bTWIG_[A-Z_]+[A-Z]", path.read_text())} - known - own
            assert not unknown, f"{path}: {unknown}"
    # What Twig itself calls a mistake: it reads every variable before it does anything.
    for values in (LEAST, MOST):
        variables = environment(pods(render(values)[0])[0]["containers"][0])
        plain = {name: it for name, it in variables.items() if isinstance(it, str) and not name.endswith("_FILE")}
        done = subprocess.run([BINARY, "-q", "list"], env={"HOME": "/nonexistent", **plain}, capture_output=True, text=True)
        assert "TWIG_" not in done.stderr, done.stderr


@check
def the_compose_file_says_the_same_as_the_chart():
    services = compose()["services"]
    container = pods(render(LEAST)[0])[0]["containers"][0]
    chart = environment(container)
    replicas = [it for name, it in services.items() if re.fullmatch(r"twig-\d+", name)]
    assert len(replicas) == 2
    for service in [*replicas, services["migrate"]]:
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"], service
        assert service["security_opt"] == ["no-new-privileges:true"] and service["tmpfs"] == ["/tmp"]
        assert [it.split(":")[1] for it in service["volumes"]] == ["/data"]
        for name in ("TWIG_HTTP_DRAIN_MILLIS", "TWIG_HTTP_ADDRESS_CONNECTIONS"):
            assert service["environment"][name] == chart[name], name
        for name, value in service["environment"].items():
            if re.search(r"TOKEN|URL|KEY", name):
                assert value.startswith(("/run/secrets/", "${")), f"{name}: {value}"
    for service in replicas:
        seconds = int(service["stop_grace_period"].removesuffix("s"))
        assert seconds == pods(render(LEAST)[0])[0]["terminationGracePeriodSeconds"]
        assert service["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    addresses = {it["networks"]["inner"]["ipv4_address"] for it in replicas}
    named = re.findall(r"^server ([\d.]+):7373 max_fails=0;$", (DEPLOY / "nginx/replicas.conf").read_text(), re.MULTILINE)
    assert set(named) == addresses, named
    for secret in compose()["secrets"].values():
        assert set(secret) == {"file"}, secret


@check
def the_image_and_the_chart_agree():
    image = (DEPLOY / "Dockerfile").read_text()
    container = pods(render(LEAST)[0])[0]["containers"][0]
    assert re.findall(r"^USER (\S+)$", image, re.MULTILINE)[-1] == f"{USER}:{USER}"
    command = json.loads(re.search(r"^CMD (.*)$", image, re.MULTILINE).group(1))
    assert command == container["args"], command
    exposed = re.search(r"^EXPOSE (.*)$", image, re.MULTILINE).group(1).split()
    assert [int(it) for it in exposed] == [it["containerPort"] for it in container["ports"]]
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE).group(1)
    metadata = yaml.safe_load((DEPLOY / "chart/Chart.yaml").read_text())
    assert metadata["appVersion"] == metadata["version"] == version
    assert container["image"] == f"twig:{version}"
    assert pods(render(MOST)[0])[0]["containers"][0]["image"] == f"registry.example/twig@sha256:{'a' * 64}"


@check
def a_change_of_the_settings_replaces_the_pods():
    def digest(text):
        template = render(LEAST | {"config": text})[0]["Deployment"]["spec"]["template"]
        return template["metadata"]["annotations"]["checksum/config"]

    assert digest("trigger = 'a'") != digest("trigger = 'b'")
    objects, _ = render(MOST)
    assert objects["ConfigMap"]["data"]["config.toml"] == MOST["config"]
    mounts = {it["name"]: it["mountPath"] for it in pods(objects)[0]["containers"][0]["volumeMounts"]}
    assert mounts["config"] == "/config/twig", mounts


def main():
    for function in checks:
        function()
        print(f"ok  {function.__name__}", flush=True)
    print(f"deployment files: {len(checks)} passed, 0 failed")


main()
