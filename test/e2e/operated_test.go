package e2e

import "k8s.io/apimachinery/pkg/runtime/schema"

// operatedCase is one operator, what it reconciles and what that makes.
type operatedCase struct {
	// name is the namespace as well.
	name string
	// operator are its workloads: a name, or a name and a label of the pods.
	operator []string
	args     []string           // of the operators
	needs    string             // objects of the API server itself that are there before
	objects  string             // custom resources that become Healthy
	also     []schema.GroupKind // kinds that must be defined as well
	children []string           // "Kind/name"
	// then are objects that can be applied later only, with what they make.
	then         string
	thenChildren []string
	// silent kinds get no status from the operator.
	silent []string
}

// operated are the operators that have embedded rules.
var operated = []operatedCase{
	{
		name: "cert-manager", operator: []string{"cert-manager"},
		silent: []string{"Gateway", "Ingress"}, // those have controllers of their own
		objects: `
{apiVersion: cert-manager.io, kind: Issuer, metadata: {name: self}, spec: {selfSigned: {}}}
---
{apiVersion: cert-manager.io, kind: ClusterIssuer, metadata: {name: self}, spec: {selfSigned: {}}}
---
{apiVersion: cert-manager.io, kind: Certificate, metadata: {name: web}, spec: {secretName: web-tls, dnsNames: [web.example.com], issuerRef: {name: self}}}
`,
		also: []schema.GroupKind{{Group: "gateway.networking.k8s.io", Kind: "Gateway"}},
		then: `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, annotations: {cert-manager.io/issuer: self}}
spec: {defaultBackend: {service: {name: shop, port: {number: 80}}}, tls: [{hosts: [shop.example.com], secretName: shop-tls}]}
---
apiVersion: gateway.networking.k8s.io
kind: Gateway
metadata: {name: edge, annotations: {cert-manager.io/cluster-issuer: self}}
spec: {gatewayClassName: nobody, listeners: [{name: https, port: 443, protocol: HTTPS, hostname: edge.example.com, tls: {certificateRefs: [{name: edge-tls}]}}]}
`,
		children: []string{"Secret/web-tls"},
		// By the shims, for an Ingress and a Gateway.
		thenChildren: []string{"Certificate/shop-tls", "Secret/shop-tls", "Certificate/edge-tls", "Secret/edge-tls"},
	},
	{
		name: "external-secrets", operator: []string{"external-secrets"},
		needs: `{apiVersion: v1, kind: Secret, metadata: {name: source}, stringData: {a: x}}`,
		objects: `
{apiVersion: external-secrets.io, kind: SecretStore, metadata: {name: store}, spec: {provider: {fake: {data: [{key: k, value: v}]}}}}
---
{apiVersion: external-secrets.io, kind: ClusterSecretStore, metadata: {name: store}, spec: {provider: {fake: {data: [{key: k, value: v}]}}}}
---
apiVersion: external-secrets.io
kind: ExternalSecret
metadata: {name: one}
spec: {secretStoreRef: {name: store, kind: SecretStore}, target: {name: made}, data: [{secretKey: a, remoteRef: {key: k}}]}
---
apiVersion: external-secrets.io
kind: ClusterExternalSecret
metadata: {name: fan}
spec:
  namespaces: [external-secrets]
  externalSecretName: fanned
  externalSecretSpec: {secretStoreRef: {name: store, kind: ClusterSecretStore}, target: {name: fanned}, data: [{secretKey: a, remoteRef: {key: k}}]}
---
apiVersion: external-secrets.io
kind: PushSecret
metadata: {name: push}
spec: {secretStoreRefs: [{name: store, kind: SecretStore}], selector: {secret: {name: source}}, data: [{match: {secretKey: a, remoteRef: {remoteKey: k}}}]}
`,
		children: []string{"Secret/made", "ExternalSecret/fanned", "Secret/fanned"},
	},
	{
		name: "cnpg-system", operator: []string{"cnpg-controller-manager"},
		objects: `
{apiVersion: postgresql.cnpg.io, kind: Cluster, metadata: {name: pg}, spec: {instances: 1, storage: {size: 1Gi}}}
---
{apiVersion: postgresql.cnpg.io, kind: Database, metadata: {name: shop}, spec: {name: shop, owner: app, cluster: {name: pg}}}
---
{apiVersion: postgresql.cnpg.io, kind: Pooler, metadata: {name: pool}, spec: {cluster: {name: pg}, instances: 1, type: rw, pgbouncer: {poolMode: session}}}
`,
		children: []string{"Secret/pg-app", "Service/pg-rw", "Pod/pg-1", "Deployment/pool", "Service/pool"},
	},
	{
		name: "mariadb", operator: []string{"mariadb-operator"},
		objects: `
{apiVersion: k8s.mariadb.com, kind: MariaDB, metadata: {name: maria}, spec: {storage: {size: 1Gi}}}
---
{apiVersion: k8s.mariadb.com, kind: Database, metadata: {name: shop}, spec: {mariaDbRef: {name: maria}}}
`,
		children: []string{"Secret/maria-root", "StatefulSet/maria", "Service/maria-primary"},
	},
	{
		name: "redis", operator: []string{"redis-operator"}, silent: []string{"RedisFailover"},
		objects:  `{apiVersion: databases.spotahome.com, kind: RedisFailover, metadata: {name: cache}, spec: {redis: {replicas: 1}, sentinel: {replicas: 1}}}`,
		children: []string{"StatefulSet/rfr-cache", "Deployment/rfs-cache", "Service/rfrm-cache"},
	},
	{
		name: "clickhouse", operator: []string{"clickhouse-operator"},
		objects:  `{apiVersion: clickhouse.altinity.com, kind: ClickHouseInstallation, metadata: {name: ch}, spec: {configuration: {clusters: [{name: main, layout: {shardsCount: 1, replicasCount: 1}}]}}}`,
		children: []string{"StatefulSet/chi-ch-main-0-0", "Service/clickhouse-ch"},
	},
	{
		name: "rabbitmq", operator: []string{"rabbitmq-cluster-operator"},
		objects:  `{apiVersion: rabbitmq.com, kind: RabbitmqCluster, metadata: {name: mq}, spec: {replicas: 1}}`,
		children: []string{"Secret/mq-default-user", "StatefulSet/mq-server", "Service/mq"},
	},
	{
		name: "gateways",
		operator: []string{
			"envoy-gateway", "cilium-operator", "istiod", "traefik app.kubernetes.io/name=traefik",
			"nginx app.kubernetes.io/name=nginx-gateway-fabric", "kgateway",
		},
		needs: `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}`,
		objects: `
{apiVersion: gateway.networking.k8s.io, kind: GatewayClass, metadata: {name: envoy}, spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}}
---
{apiVersion: gateway.networking.k8s.io, kind: GatewayClass, metadata: {name: cilium}, spec: {controllerName: io.cilium/gateway-controller}}
---
{apiVersion: gateway.networking.k8s.io, kind: GatewayClass, metadata: {name: istio}, spec: {controllerName: istio.io/gateway-controller}}
---
{apiVersion: gateway.networking.k8s.io, kind: GatewayClass, metadata: {name: traefik}, spec: {controllerName: traefik.io/gateway-controller}}
---
{apiVersion: gateway.networking.k8s.io, kind: GatewayClass, metadata: {name: nginx}, spec: {controllerName: gateway.nginx.org/nginx-gateway-controller}}
---
{apiVersion: gateway.networking.k8s.io, kind: GatewayClass, metadata: {name: kgateway}, spec: {controllerName: kgateway.dev/kgateway}}
---
{apiVersion: gateway.networking.k8s.io, kind: Gateway, metadata: {name: edge}, spec: {gatewayClassName: nginx, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io, kind: HTTPRoute, metadata: {name: web}, spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: web, port: 80}]}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}
`,
		children: []string{"Deployment/edge-nginx", "Service/edge-nginx"},
	},
	{
		name: "strimzi", operator: []string{"strimzi-cluster-operator"},
		objects: `
{apiVersion: kafka.strimzi.io, kind: KafkaNodePool, metadata: {name: pool, labels: {strimzi.io/cluster: log}}, spec: {replicas: 1, roles: [controller, broker], storage: {type: ephemeral}}}
---
{apiVersion: kafka.strimzi.io, kind: Kafka, metadata: {name: log}, spec: {kafka: {listeners: [{name: plain, port: 9092, type: internal, tls: false}]}, entityOperator: {topicOperator: {}}}}
---
{apiVersion: kafka.strimzi.io, kind: KafkaTopic, metadata: {name: orders, labels: {strimzi.io/cluster: log}}, spec: {partitions: 1, replicas: 1}}
---
{apiVersion: kafka.strimzi.io, kind: KafkaUser, metadata: {name: shop, labels: {strimzi.io/cluster: log}}, spec: {authentication: {type: scram-sha-512}}}
---
{apiVersion: kafka.strimzi.io, kind: KafkaBridge, metadata: {name: web}, spec: {replicas: 1, bootstrapServers: "log-kafka-bootstrap:9092", http: {port: 8080}}}
`,
		children: []string{"Pod/log-pool-0", "Secret/log-cluster-ca-cert", "Service/log-kafka-bootstrap", "Deployment/log-entity-operator", "Secret/shop", "Deployment/web-bridge"},
	},
	{
		name: "temporal", operator: []string{"temporal-operator-controller-manager"},
		needs: `{apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {password: x}}`,
		objects: `
apiVersion: temporal.io
kind: TemporalCluster
metadata: {name: flow}
spec:
  numHistoryShards: 1
  persistence:
    defaultStore: {sql: {user: t, pluginName: postgres, databaseName: t, connectAddr: "pg.example.com:5432", connectProtocol: tcp}, passwordSecretRef: {name: db, key: password}}
    visibilityStore: {sql: {user: t, pluginName: postgres, databaseName: v, connectAddr: "pg.example.com:5432", connectProtocol: tcp}, passwordSecretRef: {name: db, key: password}}
---
{apiVersion: temporal.io, kind: TemporalNamespace, metadata: {name: shop}, spec: {clusterRef: {name: flow}, retentionPeriod: 24h}}
---
{apiVersion: temporal.io, kind: TemporalClusterClient, metadata: {name: cli}, spec: {clusterRef: {name: flow}}}
`,
		children: []string{"Deployment/flow-frontend", "Service/flow-frontend", "Secret/cli-mtls-certificate"},
	},
	{
		name: "nack", operator: []string{"nack"}, silent: []string{"Account"},
		objects: `
{apiVersion: jetstream.nats.io, kind: Account, metadata: {name: main}, spec: {name: main}}
---
{apiVersion: jetstream.nats.io, kind: Stream, metadata: {name: orders}, spec: {name: ORDERS, subjects: [orders], account: main}}
---
{apiVersion: jetstream.nats.io, kind: Consumer, metadata: {name: shop}, spec: {streamName: ORDERS, durableName: shop}}
`,
	},
	{
		name: "keda", operator: []string{"keda-operator"},
		args:    []string{"--enable-cert-rotation=true", "--cert-secret-name=own-certs"},
		needs:   `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}}}`,
		objects: `{apiVersion: keda.sh, kind: ScaledObject, metadata: {name: web}, spec: {scaleTargetRef: {name: web}, triggers: [{type: cron, metadata: {timezone: UTC, start: "0 1 * * *", end: "0 2 * * *", desiredReplicas: "2"}}]}}`,
		// By the installer.
		children: []string{"Secret/own-certs"},
	},
	{
		name: "keycloak", operator: []string{"keycloak-operator"},
		objects: `
{apiVersion: k8s.keycloak.org, kind: Keycloak, metadata: {name: kc}, spec: {instances: 1}}
---
{apiVersion: k8s.keycloak.org, kind: KeycloakRealmImport, metadata: {name: shop}, spec: {keycloakCRName: kc, realm: {realm: shop}}}
`,
		children: []string{"StatefulSet/kc", "Secret/kc-initial-admin", "Service/kc-service", "Job/shop"},
	},
	{
		name: "monitoring", operator: []string{"prometheus-operator"},
		objects:  `{apiVersion: monitoring.coreos.com, kind: Prometheus, metadata: {name: main}, spec: {replicas: 1}}`,
		children: []string{"StatefulSet/prometheus-main", "Service/prometheus-operated"},
	},
	{
		name: "grafana", operator: []string{"grafana-operator"},
		objects: `
{apiVersion: grafana.integreatly.org, kind: Grafana, metadata: {name: g, labels: {dashboards: g}}, spec: {}}
---
{apiVersion: grafana.integreatly.org, kind: GrafanaDashboard, metadata: {name: shop}, spec: {instanceSelector: {matchLabels: {dashboards: g}}, json: "{}"}}
`,
		children: []string{"Deployment/g-deployment", "Secret/g-admin-credentials", "Service/g-service"},
	},
	{
		name: "opentelemetry", operator: []string{"opentelemetry-operator"},
		objects:  `{apiVersion: opentelemetry.io, kind: OpenTelemetryCollector, metadata: {name: otel}, spec: {mode: deployment, config: {receivers: {otlp: {}}, exporters: {debug: {}}, service: {pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}}}}`,
		children: []string{"Deployment/otel-collector", "Service/otel-collector"},
	},
	{
		name: "crossplane", operator: []string{"crossplane"}, silent: []string{"Composition"},
		objects: `
{apiVersion: pkg.crossplane.io, kind: Provider, metadata: {name: p}, spec: {package: "xpkg.example.com/provider:v1"}}
---
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: xshops.made.example.com}
spec:
  group: made.example.com
  scope: Namespaced
  names: {kind: XShop, plural: xshops}
  versions: [{name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}]
---
apiVersion: apiextensions.crossplane.io
kind: Composition
metadata: {name: shops}
spec: {compositeTypeRef: {apiVersion: made.example.com/v1, kind: XShop}, mode: Pipeline, pipeline: [{step: one, functionRef: {name: f}}]}
`,
		then: `{apiVersion: made.example.com/v1, kind: XShop, metadata: {name: shop}, spec: {}}`,
	},
	{
		name: "sealed-secrets", operator: []string{"sealed-secrets"},
		objects:  `{apiVersion: bitnami.com, kind: SealedSecret, metadata: {name: sealed}, spec: {encryptedData: {a: AgB}}}`,
		children: []string{"Secret/sealed"},
	},
	{
		name: "olm", operator: []string{"catalog-operator"},
		objects: `
{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: hub}, spec: {sourceType: grpc, image: example.com/hub}}
---
{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: all}, spec: {}}
---
{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: certs}, spec: {channel: stable, name: cert-manager, source: hub, sourceNamespace: olm}}
---
{apiVersion: operators.coreos.com/v1alpha1, kind: InstallPlan, metadata: {name: by-hand}, spec: {approval: Manual, approved: true, generation: 1, clusterServiceVersionNames: [not-known.v1.0.0]}}
---
{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: alone}, spec: {displayName: alone, install: {strategy: deployment}}}
`,
		children: []string{"Deployment/cert-manager", "Deployment/cert-manager-webhook"},
		// Of a kind that the package brings, reconciled by the operator that OLM starts.
		then: `{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: self}, spec: {selfSigned: {}}}`,
	},
	{
		name: "kagent", operator: []string{"kagent-controller"},
		needs: `{apiVersion: v1, kind: Secret, metadata: {name: key}, stringData: {k: x}}`,
		objects: `
{apiVersion: kagent.dev, kind: ModelConfig, metadata: {name: model}, spec: {provider: OpenAI, model: m, apiKeySecret: key, apiKeySecretKey: k}}
---
{apiVersion: kagent.dev, kind: Agent, metadata: {name: helper}, spec: {type: Declarative, declarative: {modelConfig: model, systemMessage: hello}}}
`,
		children: []string{"Deployment/helper", "Service/helper"},
	},
	{
		name: "kyverno", operator: []string{"kyverno-admission-controller"},
		objects: `{apiVersion: kyverno.io, kind: ClusterPolicy, metadata: {name: named}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {metadata: {name: "?*"}}}}]}}`,
	},
	{
		name: "velero", operator: []string{"velero"},
		objects: `{apiVersion: velero.io, kind: BackupStorageLocation, metadata: {name: default}, spec: {provider: aws, objectStorage: {bucket: b}}}`,
	},
}
