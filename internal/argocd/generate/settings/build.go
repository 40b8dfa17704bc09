package settings

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/kube/health"
)

// The names and keys of Argo CD's settings. Source: Argo CD operator manual,
// argocd-cm.yaml and argocd-cmd-params-cm.yaml.
const (
	parametersName = "argocd-cmd-params-cm"
	healthPrefix   = "resource.customizations.health."
	exclusionsKey  = "resource.exclusions"
	progressiveKey = "applicationsetcontroller.enable.progressive.syncs"
	optionsKey     = "argocd.argoproj.io/sync-options"
	nameLabel      = "app.kubernetes.io/name"
	partOfLabel    = "app.kubernetes.io/part-of"
	partOf         = "argocd"
)

// syncOptions keep what others have written in the same ConfigMap, and keep the
// ConfigMap itself when the Application that applies it goes.
const syncOptions = "ServerSideApply=true,Prune=false,Delete=false"

// Build makes the settings. Two components whose checks on one kind differ are an
// error that names both: Argo CD has one script for a kind.
func Build(ctx context.Context, in Input) (Result, error) {
	scripts, notes, err := healthScripts(ctx, in)
	if err != nil {
		return Result{}, err
	}
	r := Result{Settings: configMap(in, health.ArgoCM), Parameters: configMap(in, parametersName), Notes: notes}
	for gk, script := range scripts {
		r.Settings.Data[healthPrefix+gk.Group+"_"+gk.Kind] = script
	}
	if len(in.Exclusions) > 0 {
		text, err := yaml.Marshal(in.Exclusions)
		if err != nil {
			return Result{}, fmt.Errorf("write the resource exclusions: %w", err)
		}
		r.Settings.Data[exclusionsKey] = string(text)
	}
	if in.ProgressiveSyncs {
		r.Parameters.Data[progressiveKey] = strconv.FormatBool(true)
	}
	return r, nil
}

func configMap(in Input, name string) ConfigMap {
	labels := maps.Clone(in.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	// Argo CD sees no ConfigMap without this label.
	labels[nameLabel], labels[partOfLabel] = name, partOf
	return ConfigMap{
		APIVersion: "v1", Kind: "ConfigMap", Data: map[string]string{},
		Metadata: Metadata{Name: name, Namespace: in.Namespace, Labels: labels, Annotations: map[string]string{optionsKey: syncOptions}},
	}
}
