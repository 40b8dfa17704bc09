package bootstrap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// stageSources reads everything before anything is changed: the platform, Argo
// CD, the values of Secrets.
func (r *run) stageSources(ctx context.Context, s *report.BootstrapStage) error {
	r.note("reading %s", r.options.Path)
	sources, err := r.read(ctx)
	if err != nil {
		return err
	}
	r.sources = sources
	s.Message = fmt.Sprintf("%s of Argo CD, %s, %s before Argo CD", finding.Count(len(sources.install), "object"), finding.Count(len(sources.secrets), "Secret"), finding.Count(len(sources.preArgo), "component"))
	return nil
}

// connectPatience is how long a cluster that was just made may take to answer.
const connectPatience = 3 * time.Minute

// stageCluster makes the cluster where the configuration says so, and reaches it.
func (r *run) stageCluster(ctx context.Context, s *report.BootstrapStage) error {
	c := r.options.Config.Cluster
	name := c.Context
	made := false
	if c.Create != nil {
		there, err := (&tool{run: r, create: *c.Create, root: r.sources.platform.Root}).ensure(ctx, s, r.options.ResetCluster)
		if err != nil {
			return err
		}
		name = c.Create.context()
		if !there {
			r.access = &Access{Name: name}
			s.Message = "would be made"
			return nil
		}
		made = s.Objects[len(s.Objects)-1].Action != report.ObjectUnchanged
	}
	r.note("reaching the cluster")
	until := r.options.Clock.Now().Add(connectPatience)
	for {
		access, err := r.options.Connect(ctx, c.Kubeconfig, name)
		if err == nil {
			r.access = access
			break
		}
		if !made || !errors.As(err, new(*UnreachableError)) || r.options.Clock.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.options.Clock.After(time.Second):
		}
	}
	var err error
	if r.target, err = engine.NewClient(r.access.REST, r.options.Clock); err != nil {
		return err
	}
	s.Message = fmt.Sprintf("%s answers, version %s", r.access.Name, r.access.Version)
	return nil
}

// assessor judges objects as the settings of Argo CD that are installed do.
func (r *run) assessor(ctx context.Context) (*health.Assessor, error) {
	scripts, _, err := health.FromArgoCM(ctx, r.sources.settings)
	if err != nil {
		return nil, fmt.Errorf("read the health scripts of argocd-cm: %w", err)
	}
	return health.New(health.WithClock(r.options.Clock.Now), health.WithScripts(scripts)), nil
}

// stagePreArgo applies the components that come before Argo CD, one after the
// other, each of which has to become Healthy.
func (r *run) stagePreArgo(ctx context.Context, s *report.BootstrapStage) error {
	if len(r.sources.preArgo) == 0 {
		s.State, s.Message = report.StageSkipped, "the platform has nothing that comes before Argo CD"
		return nil
	}
	base, err := r.assessor(ctx)
	if err != nil {
		return err
	}
	for _, c := range r.sources.preArgo {
		r.note("applying %s", c.Name)
		one, cancel := context.WithTimeout(ctx, cmp.Or(c.Timeout, r.sources.platform.Ladder.Timeout, DefaultArgoTimeout))
		check, err := base.With(ctx, c.Health)
		if err == nil {
			err = r.applyAll(one, s, r.sources.early[c.Name], ArgoManager, check.Assess)
		}
		if err == nil && !r.options.DryRun {
			err = r.smokes(one, s, []smoke.Suite{{Component: c.Name, Checks: c.Smoke}}, 0)
		}
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// stageSecrets applies the Secrets.
func (r *run) stageSecrets(ctx context.Context, s *report.BootstrapStage) error {
	objects := r.sources.secrets
	if len(objects) == 0 {
		s.State, s.Message = report.StageSkipped, "the configuration has none"
		return nil
	}
	r.note("applying %s", finding.Count(len(objects), "Secret"))
	return r.applyAll(ctx, s, objects, OwnManager, healthy)
}

// healthy judges what is ready as soon as it is there.
func healthy(context.Context, *unstructured.Unstructured) health.Status {
	return health.Status{Health: rollout.Healthy}
}

// stageArgoCD installs Argo CD with its settings and waits until it runs.
func (r *run) stageArgoCD(ctx context.Context, s *report.BootstrapStage) error {
	a := r.options.Config.ArgoCD
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	base, err := r.assessor(ctx)
	if err != nil {
		return err
	}
	before, err := r.readers(ctx)
	if err != nil {
		return err
	}
	read, _, err := r.parameters(ctx)
	if err != nil {
		return err
	}
	r.note("installing Argo CD into %s", r.sources.namespace)
	if err := r.standIn(ctx); err != nil {
		return err
	}
	if err := r.applyAll(ctx, s, r.sources.install, ArgoManager, gate(base)); err != nil {
		return err
	}
	if err := r.own(ctx, r.sources.brought); err != nil {
		return err
	}
	if err := r.restart(ctx, before, read); err != nil {
		return err
	}
	if a.Skip {
		return r.running(ctx, s, base)
	}
	if r.options.DryRun {
		return nil
	}
	if err := r.standIn(ctx); err != nil {
		return err
	}
	// The restart may have made them unready again.
	return r.ready(ctx, s, r.sources.install, gate(base))
}

// own has the bootstrap own parts of objects that are there, whoever looks after the rest of them. What somebody
// has changed since stays.
func (r *run) own(ctx context.Context, parts []manifest.Object) error {
	if r.options.DryRun {
		return nil
	}
	for _, o := range parts {
		client, err := r.client(ctx, o)
		if err != nil {
			return objectError(o, err)
		}
		err = r.target.Try(ctx, func() error {
			_, err := client.Apply(ctx, o.GetName(), o.Unstructured, metav1.ApplyOptions{FieldManager: OwnManager})
			if apierrors.IsConflict(err) {
				return nil
			}
			return err
		})
		if err != nil {
			return objectError(o, err)
		}
	}
	return nil
}

// gate judges what runs Argo CD: its workloads, Jobs and CRDs. What else there is,
// such as a load balancer that gets no address, does not keep it from running.
func gate(a *health.Assessor) assess {
	return func(ctx context.Context, o *unstructured.Unstructured) health.Status {
		switch o.GetKind() {
		case "Deployment", "StatefulSet", "DaemonSet", "Job", "CustomResourceDefinition":
			return a.Assess(ctx, o)
		}
		return healthy(ctx, o)
	}
}

// parametersName is the ConfigMap that the workloads of Argo CD read when they start.
const parametersName = "argocd-cmd-params-cm"

// readers are the workloads that run already and have read the parameters.
func (r *run) readers(ctx context.Context) ([]manifest.Object, error) {
	var out []manifest.Object
	if r.target == nil {
		return nil, nil
	}
	for _, o := range r.sources.install {
		if kind := o.GetKind(); kind != "Deployment" && kind != "StatefulSet" {
			continue
		}
		text, err := json.Marshal(o.Object)
		if err != nil || !strings.Contains(string(text), parametersName) {
			continue
		}
		live, err := r.get(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName())
		if err != nil {
			return nil, objectError(o, err)
		}
		if live != nil {
			out = append(out, o)
		}
	}
	return out, nil
}

// parameters are the data of that ConfigMap as the cluster has it, and its version.
func (r *run) parameters(ctx context.Context) (data map[string]string, version string, err error) {
	if r.target == nil {
		return nil, "", nil
	}
	cm, err := r.get(ctx, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, r.sources.namespace, parametersName)
	if err != nil || cm == nil {
		return nil, "", err
	}
	data, _, err = unstructured.NestedStringMap(cm.Object, "data")
	return data, cm.GetResourceVersion(), err
}

// restart has the workloads read the parameters again, if those have changed
// since they were read.
func (r *run) restart(ctx context.Context, workloads []manifest.Object, read map[string]string) error {
	if r.options.DryRun || len(workloads) == 0 {
		return nil
	}
	now, version, err := r.parameters(ctx)
	if err != nil || maps.Equal(now, read) {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"ladder.rollout-ladder.dev/restarted-for": parametersName + " " + version},
	}}}})
	if err != nil {
		return err
	}
	for _, o := range workloads {
		client, err := r.target.Resource(ctx, o.GroupVersionKind(), o.GetNamespace(), 0)
		if err != nil {
			return objectError(o, err)
		}
		r.note("restarting %s: %s has changed", o.Resource().Human(), parametersName)
		err = r.target.Try(ctx, func() error {
			_, err := client.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: OwnManager})
			return err
		})
		if err != nil {
			return objectError(o, err)
		}
	}
	return nil
}

// running waits for an Argo CD that somebody else installed: its CRD and the
// workloads that carry its label.
func (r *run) running(ctx context.Context, s *report.BootstrapStage, base *health.Assessor) error {
	if r.target == nil {
		return nil
	}
	wanted := []manifest.Object{object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "applications.argoproj.io")}
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		client, err := r.target.Resource(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}, r.sources.namespace, 0)
		if err != nil {
			return err
		}
		var names []string
		err = r.target.Try(ctx, func() error {
			list, err := client.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=argocd"})
			if err != nil {
				return err
			}
			names = nil
			for i := range list.Items {
				names = append(names, list.Items[i].GetName())
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("look for Argo CD: %w", err)
		}
		for _, name := range names {
			wanted = append(wanted, object("apps/v1", kind, r.sources.namespace, name))
		}
	}
	s.Message = "somebody else looks after Argo CD: " + finding.Count(len(wanted)-1, "workload")
	if r.options.DryRun {
		return nil
	}
	return r.ready(ctx, s, wanted, gate(base))
}

func object(apiVersion, kind, namespace, name string) manifest.Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return manifest.Object{Unstructured: u, Target: namespace}
}

// stageRoot applies the projects and what Argo CD finds everything else by.
func (r *run) stageRoot(ctx context.Context, s *report.BootstrapStage) error {
	r.note("applying the projects and the root of the Applications")
	if err := r.applyAll(ctx, s, r.sources.root, ArgoManager, healthy); err != nil {
		return err
	}
	if r.sources.unlike != "" { // of no interest before Argo CD reads the files
		r.sources.warnings = append(r.sources.warnings, r.sources.unlike)
	}
	return nil
}
