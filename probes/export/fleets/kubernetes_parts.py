"""Hold the manifests that are equal for all probes."""

MANIFESTS = """\
# Nodes may have different kernels: each takes the probes as its own kernel wants them. To have it run:
#   build an image that has probewright in it (docs/headless.md) and put its name below,
#   say in the ConfigMap `probewright` where the events go, then kubectl apply -f THIS.
---
apiVersion: v1
kind: Namespace
metadata:
  name: probewright
  labels:
    # The levels below forbid hostPID and hostPath, without which no pod sees its node's kernel.
    pod-security.kubernetes.io/enforce: privileged
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: probewright
  namespace: probewright
# Nothing is asked of the cluster.
automountServiceAccountToken: false
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: probewright
  namespace: probewright
data:
  # A collector of OpenTelemetry, or a folder on a volume of yours (below): parquet:/var/lib/probewright/
  export: otlp:http://opentelemetry-collector.opentelemetry.svc:4318
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: probewright-preset
  namespace: probewright
data:
  preset.toml: @PRESET@
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: probewright
  namespace: probewright
  labels:
    app.kubernetes.io/name: probewright
spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: probewright
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 10%
  template:
    metadata:
      labels:
        app.kubernetes.io/name: probewright
    spec:
      serviceAccountName: probewright
      automountServiceAccountToken: false
      # Events name processes as the node does, and what a dead session left is told from what a living one has.
      hostPID: true
      nodeSelector:
        kubernetes.io/os: linux
      tolerations:
        - operator: Exists
      # TERM ends a recording: the probes are taken away, and what waits is sent, in 10 seconds at most each.
      terminationGracePeriodSeconds: 45
      containers:
        - name: probewright
          image: @IMAGE@
          command:
            - /bin/sh
            - -c
            # A container that was killed (out of memory, say) could take nothing away: the next one does.
            - >-
              probewright clean --target local;
              exec probewright run --target local --export "$PROBEWRIGHT_EXPORT" /etc/probewright/preset.toml
          env:
            - name: PROBEWRIGHT_EXPORT
              valueFrom:
                configMapKeyRef:
                  name: probewright
                  key: export
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            - name: OTEL_RESOURCE_ATTRIBUTES
              value: host.name=$(NODE_NAME),k8s.node.name=$(NODE_NAME),k8s.pod.name=$(POD_NAME)
            - name: OTEL_EXPORTER_OTLP_HEADERS
              # kubectl -n probewright create secret generic probewright-otlp --from-literal=headers=authorization=...
              valueFrom:
                secretKeyRef:
                  name: probewright-otlp
                  key: headers
                  optional: true
            - name: HOME
              value: /tmp
          securityContext:
            # Not privileged: tracefs asks for its owner, root, and for no capability.
            runAsUser: 0
            runAsGroup: 0
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop:
                - ALL
              add:
                # files of tracefs that an administrator has given to a group
                - DAC_OVERRIDE
                # addresses in /proc/kallsyms
                - SYSLOG
            seccompProfile:
              type: RuntimeDefault
            # The profiles that runtimes have by default forbid every write below /sys.
            appArmorProfile:
              type: Unconfined
            seLinuxOptions:
              type: spc_t
          resources:
            requests:
              cpu: 50m
              memory: 192Mi
            limits:
              cpu: "1"
              memory: 512Mi
          volumeMounts:
            - name: tracing
              mountPath: /sys/kernel/tracing
            - name: run
              mountPath: /run/probewright
            - name: preset
              mountPath: /etc/probewright
              readOnly: true
            - name: events
              mountPath: /var/lib/probewright
            - name: tmp
              mountPath: /tmp
      volumes:
        - name: tracing
          hostPath:
            path: /sys/kernel/tracing
            type: Directory
        # What has to be put back, should a container be killed.
        - name: run
          hostPath:
            path: /run/probewright
            type: DirectoryOrCreate
        - name: preset
          configMap:
            name: probewright-preset
        # For parquet: in its place a volume that outlives the pod.
        - name: events
          emptyDir:
            sizeLimit: 2Gi
        - name: tmp
          emptyDir:
            sizeLimit: 256Mi
"""
