package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

const headerOfPackages = "# Generated from a published bundle; do not edit.\n"

// maxKinds bounds how many kinds of a package are listed; of more, its groups are.
const maxKinds = 25

// products are packages that are built of the project of another package, whose
// bundles are not published: kinds and webhooks are those of the project. Install
// modes and channels are a product's own, and not known.
var products = map[string]string{
	"advanced-cluster-management": "stolostron", "amq-streams": "strimzi-kafka-operator", "cluster-observability-operator": "observability-operator",
	"cincinnati-operator": "update-service-operator", "costmanagement-metrics-operator": "koku-metrics-operator", "datagrid": "infinispan", "devspaces": "eclipse-che", "elastic-cloud-eck": "elasticsearch-eck-operator-certified", "jaeger-product": "jaeger",
	"kiali-ossm": "kiali", "kubevirt-hyperconverged": "community-kubevirt-hyperconverged", "mtv-operator": "forklift-operator",
	"openshift-cert-manager-operator": "cert-manager-operator", "openshift-custom-metrics-autoscaler-operator": "keda",
	"openshift-gitops-operator": "gitops-operator", "opentelemetry-product": "opentelemetry-operator", "quay-operator": "project-quay",
	"red-hat-camel-k": "camel-k", "redhat-oadp-operator": "oadp-operator", "rhbk-operator": "keycloak-operator", "rhcl-operator": "kuadrant-operator",
	"openshift-zero-trust-workload-identity-manager": "zero-trust-workload-identity-manager",
	"rhods-operator": "opendatahub-operator", "tempo-product": "tempo-operator", "topology-aware-lifecycle-manager": "cluster-group-upgrades-operator",
}

// operands are the API groups of kinds that no bundle of a package owns: it installs
// their CRDs for what it is asked to run, or depends on the packages that have them.
// Source: opendatahub-operator, api/datasciencecluster, for the components, and the CRDs
// of these; kuadrant-operator, bundle/metadata/dependencies.yaml; multiclusterhub-operator and
// backplane-operator, pkg/templates/crds; Red Hat OpenShift Pipelines, "Customizing configurations in the
// TektonConfig custom resource": the operator makes one by itself.
var operands = map[string][]string{
	"opendatahub-operator": {
		"datasciencepipelinesapplications.opendatahub.io", "maas.opendatahub.io", "mlflow.opendatahub.io", "opendatahub.io", "serving.kserve.io", "trustyai.opendatahub.io",
	},
	"multicluster-engine": engineGroups, "stolostron-engine": engineGroups,
	"stolostron": append([]string{
		"agent.open-cluster-management.io", "apps.open-cluster-management.io", "multicluster.openshift.io", "observability.open-cluster-management.io",
		"policy.open-cluster-management.io", "search.open-cluster-management.io",
	}, engineGroups...),
	"openshift-pipelines-operator-rh": {"pipelinesascode.tekton.dev", "tekton.dev", "triggers.tekton.dev"},
	"kuadrant-operator":               {"authorino.kuadrant.io", "extensions.kuadrant.io", "limitador.kuadrant.io", "operator.authorino.kuadrant.io"},
}

// engineGroups are those of what the multicluster engine runs, which the project around it
// runs as well. Source: backplane-operator, pkg/templates/crds.
var engineGroups = []string{
	"action.open-cluster-management.io", "addon.open-cluster-management.io", "agent-install.openshift.io", "cluster.open-cluster-management.io",
	"config.open-cluster-management.io", "discovery.open-cluster-management.io", "extensions.hive.openshift.io", "hive.openshift.io",
	"hypershift.openshift.io", "imageregistry.open-cluster-management.io", "view.open-cluster-management.io", "work.open-cluster-management.io",
}

// addOperands adds the groups of what operators run.
func addOperands(operators map[string]catalogue.Operator) {
	for pack, groups := range operands {
		if o, ok := operators[pack]; ok {
			o.Groups = slices.Compact(slices.Sorted(slices.Values(append(o.Groups, groups...))))
			operators[pack] = o
		}
	}
}

// namespaces are those that operators make once they run. Source: openshift/cert-manager-operator,
// bindata/cert-manager-deployment; Red Hat OpenShift Pipelines, "Setting annotations and labels of the installation namespace";
// opendatahub-io/opendatahub-operator, cmd/main.go: the default DSCInitialization, which DISABLE_DSC_CONFIG leaves out.
var namespaces = map[string]string{
	"cert-manager-operator": "cert-manager", "openshift-pipelines-operator-rh": "openshift-pipelines",
	"rhods-operator": "redhat-ods-applications",
}

// addNamespaces adds the namespaces that operators make.
func addNamespaces(operators map[string]catalogue.Operator) {
	for pack, namespace := range namespaces {
		if o, ok := operators[pack]; ok {
			o.Objects = append(slices.Clone(o.Objects), catalogue.Object{Kind: "Namespace", Name: namespace})
			operators[pack] = o
		}
	}
}

// addProducts adds the products of the projects that are there.
func addProducts(operators map[string]catalogue.Operator) {
	for product, project := range products {
		o, ok := operators[project]
		if _, own := operators[product]; !ok || own {
			continue
		}
		o.Name, o.Open = product, true
		o.Installed = []catalogue.Installed{{OLM: &catalogue.Package{Package: product}}}
		o.Notes = "read from the bundle of " + project + ", of which it is built"
		operators[product] = o
	}
}

// bundle is one version of a package, in the format of the Operator Lifecycle
// Manager: manifests/ with a ClusterServiceVersion and CRDs, metadata/annotations.yaml.
// Source: https://olm.operatorframework.io/docs/tasks/creating-operator-bundle.
type bundle struct {
	dir    string
	source string // "owner/name@commit:path"
	pack   string
	// channel is the default one of the package; channels are those of the bundle.
	channel  string
	channels []string
	csv      serviceVersion
	version  *semver.Version
}

// serviceVersion are the fields of a ClusterServiceVersion that are read.
type serviceVersion struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version      string `json:"version"`
		InstallModes []struct {
			Type      string `json:"type"`
			Supported bool   `json:"supported"`
		} `json:"installModes"`
		CRDs struct {
			Owned, Required []struct {
				Name string `json:"name"`
				Kind string `json:"kind"`
			}
		} `json:"customresourcedefinitions"`
		Install struct {
			Spec struct {
				Deployments []struct {
					Name string `json:"name"`
					Spec struct {
						Template struct {
							Spec struct {
								Containers []struct {
									Image string `json:"image"`
								} `json:"containers"`
							} `json:"spec"`
						} `json:"template"`
					} `json:"spec"`
				} `json:"deployments"`
			} `json:"spec"`
		} `json:"install"`
		Webhooks []webhookDescription `json:"webhookdefinitions"`
	} `json:"spec"`
}

type webhookDescription struct {
	Type           string         `json:"type"`
	FailurePolicy  string         `json:"failurePolicy"`
	ObjectSelector map[string]any `json:"objectSelector"`
	Rules          []struct {
		APIGroups  []string `json:"apiGroups"`
		Operations []string `json:"operations"`
		Resources  []string `json:"resources"`
	} `json:"rules"`
}

// packages returns the files of the packages of checkouts, each given as
// "owner/name@commit=folder": catalogues with operators/PACKAGE/VERSION, or the
// repositories of operators with bundles anywhere. Of a package that several
// have, the first counts.
//
// Packages that skip matches and keep does not are left out: a nil skip matches none.
func packages(checkouts []string, skip, keep *regexp.Regexp) (map[string][]byte, error) {
	operators := map[string]catalogue.Operator{}
	for _, checkout := range checkouts {
		source, dir, ok := strings.Cut(checkout, "=")
		if !ok || !strings.Contains(source, "@") {
			return nil, fmt.Errorf("checkout %q is not written as owner/name@commit=folder", checkout)
		}
		found, err := bundles(dir, source)
		if err != nil {
			return nil, err
		}
		for pack, all := range found {
			if _, ok := operators[pack]; ok || skip != nil && skip.MatchString(pack) && !keep.MatchString(pack) {
				continue
			}
			b, err := head(all)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", pack, err)
			}
			o, ok, err := b.operator()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", b.dir, err)
			}
			if ok {
				operators[pack] = o
			}
		}
	}
	addOperands(operators)
	addProducts(operators)
	addNamespaces(operators)
	files := map[string][]byte{}
	return files, add(files, "olm", headerOfPackages, operators)
}

// bundles are those of a checkout, by package.
func bundles(root, source string) (map[string][]bundle, error) {
	found := map[string][]bundle{}
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "annotations.yaml" || filepath.Base(filepath.Dir(file)) != "metadata" {
			return err
		}
		dir := filepath.Dir(filepath.Dir(file))
		below, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		b, ok, err := readBundle(dir, source+":"+filepath.ToSlash(below))
		if ok {
			found[b.pack] = append(found[b.pack], b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read bundles: %w", err)
	}
	return found, nil
}

// readBundle reads a bundle. A folder that is none is not ok: a template, or one
// whose file cannot be read, which its catalogue does not serve either.
func readBundle(dir, source string) (b bundle, ok bool, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, "metadata", "annotations.yaml"))
	if err != nil {
		return b, false, fmt.Errorf("read annotations: %w", err)
	}
	var about struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := yaml.Unmarshal(raw, &about); err != nil {
		return b, false, nil //nolint:nilerr // a template
	}
	const prefix = "operators.operatorframework.io.bundle."
	b = bundle{dir: dir, source: source, pack: about.Annotations[prefix+"package.v1"]}
	b.channels = strings.FieldsFunc(about.Annotations[prefix+"channels.v1"], func(r rune) bool { return r == ',' || r == ' ' })
	if b.channel = about.Annotations[prefix+"channel.default.v1"]; b.channel == "" && len(b.channels) > 0 {
		b.channel = b.channels[0]
	}
	for _, folder := range []string{filepath.Join(dir, "manifests"), filepath.Join(dir, "manifests", "stable")} {
		names, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil {
			return b, false, err
		}
		for _, name := range names {
			if !strings.Contains(strings.ToLower(filepath.Base(name)), "clusterserviceversion") {
				continue
			}
			raw, err := os.ReadFile(name)
			if err != nil {
				return b, false, fmt.Errorf("read ClusterServiceVersion: %w", err)
			}
			if yaml.Unmarshal(raw, &b.csv) != nil {
				continue
			}
			if b.version, err = semver.NewVersion(b.csv.Spec.Version); err != nil {
				continue
			}
			b.dir = folder
			return b, plainName.MatchString(b.pack), nil
		}
	}
	return b, false, nil
}

// head is the highest version of the default channel, which the highest of all
// versions names; a version that is no release only where there is no other.
func head(all []bundle) (bundle, error) {
	if len(all) == 0 {
		return bundle{}, errors.New("there are no bundles")
	}
	slices.SortFunc(all, func(a, b bundle) int {
		return cmp.Or(b.version.Compare(a.version), strings.Compare(a.source, b.source))
	})
	best := &all[0]
	for i := range all {
		if !slices.Contains(all[i].channels, all[0].channel) {
			continue
		}
		if all[i].version.Prerelease() == "" {
			return all[i], nil
		}
		if !slices.Contains(best.channels, all[0].channel) {
			best = &all[i]
		}
	}
	return *best, nil
}

// operator is what a bundle says. It is not ok where it says nothing that counts.
func (b bundle) operator() (o catalogue.Operator, ok bool, err error) {
	kinds, err := b.kinds()
	if err != nil {
		return o, false, err
	}
	p := catalogue.Package{Package: b.pack, Channel: b.channel}
	for _, mode := range b.csv.Spec.InstallModes {
		if mode.Supported {
			p.Modes = append(p.Modes, mode.Type)
		}
	}
	slices.Sort(p.Modes)
	o = catalogue.Operator{
		Name: b.pack, Version: b.csv.Spec.Version, Source: []string{b.source}, Installed: []catalogue.Installed{{OLM: &p}},
		Kinds: kinds, Webhooks: b.webhooks(kinds), Workloads: b.workloads(),
	}
	for _, r := range b.csv.Spec.CRDs.Required {
		if _, group, _ := strings.Cut(r.Name, "."); group != "" && r.Kind != "" {
			o.Requires = append(o.Requires, group+"/"+r.Kind)
		}
	}
	slices.Sort(o.Requires)
	o.Requires = slices.Compact(o.Requires)
	if len(o.Kinds) > maxKinds {
		for _, crd := range o.Kinds {
			o.Groups = append(o.Groups, crd.Group)
		}
		slices.Sort(o.Groups)
		o.Groups, o.Kinds = slices.Compact(o.Groups), nil
	}
	return o, len(p.Modes) > 0 || len(kinds) > 0, nil
}

// kinds are the CRDs that a bundle owns and holds.
func (b bundle) kinds() ([]catalogue.CRD, error) {
	owned := map[string]bool{}
	for _, crd := range b.csv.Spec.CRDs.Owned {
		owned[crd.Name] = true
	}
	names, err := filepath.Glob(filepath.Join(b.dir, "*.y*ml"))
	if err != nil {
		return nil, err
	}
	var out []catalogue.CRD
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read a manifest: %w", err)
		}
		if !strings.Contains(string(raw), "CustomResourceDefinition") {
			continue
		}
		parsed, err := manifest.Parse(raw)
		if err != nil {
			continue // what cannot be parsed is not served
		}
		for _, p := range parsed {
			if crd, ok := manifest.ReadCRD(p.Object); ok && len(crd.Versions) > 0 && owned[crd.Plural+"."+crd.Group] {
				out = append(out, catalogue.CRD{CRD: crd})
			}
		}
	}
	catalogue.SortCRDs(out)
	return slices.CompactFunc(out, func(x, y catalogue.CRD) bool { return x.Group == y.Group && x.Kind == y.Kind }), nil
}

// webhooks are those that are asked about new objects. On kinds of others they
// count as selective: which objects they see hangs on the OperatorGroup.
func (b bundle) webhooks(kinds []catalogue.CRD) []catalogue.Webhook {
	byResource := map[string]string{}
	for _, crd := range kinds {
		byResource[crd.Group+"/"+crd.Plural] = crd.Group + "/" + crd.Kind
	}
	var out []catalogue.Webhook
	for _, d := range b.csv.Spec.Webhooks {
		hook := catalogue.Webhook{Selective: len(d.ObjectSelector) > 0}
		if d.FailurePolicy == "Ignore" {
			hook.Policy = d.FailurePolicy
		}
		for _, rule := range d.Rules {
			if !slices.Contains(rule.Operations, "CREATE") && !slices.Contains(rule.Operations, "*") {
				continue
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					if kind := byResource[group+"/"+resource]; kind != "" {
						hook.Kinds = append(hook.Kinds, kind)
					}
				}
			}
		}
		if len(hook.Kinds) == 0 {
			continue
		}
		same := slices.IndexFunc(out, func(w catalogue.Webhook) bool { return w.Policy == hook.Policy && w.Selective == hook.Selective })
		if same < 0 {
			out, same = append(out, hook), len(out)
		}
		out[same].Kinds = append(out[same].Kinds, hook.Kinds...)
		slices.Sort(out[same].Kinds)
		out[same].Kinds = slices.Compact(out[same].Kinds)
	}
	return out
}

var tag = regexp.MustCompile(`(@.*|:[^/]*)$`)

// workloads are the Deployments, each with the image of its first container that
// is no proxy.
func (b bundle) workloads() []catalogue.Workload {
	var out []catalogue.Workload
	for _, d := range b.csv.Spec.Install.Spec.Deployments {
		w := catalogue.Workload{Name: d.Name}
		for _, c := range d.Spec.Template.Spec.Containers {
			image := tag.ReplaceAllString(strings.TrimSpace(c.Image), "")
			if image != "" && !strings.Contains(image, "proxy") && !strings.ContainsAny(image, " ${}") {
				w.Image = image
				break
			}
		}
		out = append(out, w)
	}
	return out
}
