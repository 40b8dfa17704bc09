package main

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/plane/argocd/snapshot"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/helm"
)

// kubeVersion is what charts are told on both sides.
const kubeVersion = "1.34.0"

// compare compares both readings of a repository; scratch is an empty folder.
func compare(ctx context.Context, dir, scratch string, reader *reader) (*report, error) {
	environments, err := analysis.LoadAll(ctx, dir, analysis.Options{Offline: true, NoCache: true, KubeVersion: kubeVersion})
	if err != nil {
		return nil, err
	}
	r := &report{}
	var snap snapshot.Snapshot
	for _, e := range environments {
		p := e.Platform
		if p.Applied == nil {
			continue // descriptors, which Argo CD does not read
		}
		if snap.Address == "" {
			if snap, err = snapshot.Make(ctx, snapshot.Options{Top: e.Top(), Dir: filepath.Join(scratch, "repository")}); err != nil {
				return nil, err
			}
		}
		q, err := ask(e, snap)
		if err != nil {
			return nil, err
		}
		read, err := reader.read(q)
		if err != nil {
			return nil, err
		}
		c := &comparison{report: r, loaded: e, read: read, again: func() (result, error) { return reader.read(q) }}
		if err := c.run(); err != nil {
			return nil, err
		}
	}
	r.finish()
	return r, nil
}

// ask is what Argo CD is given of an environment.
func ask(e *analysis.Result, s snapshot.Snapshot) (request, error) {
	p := e.Platform
	q := request{
		Address: s.Address, Own: p.Applied.Addresses, Namespace: "argocd", NewGlobbing: p.Applied.NewGlobbing,
		KubeVersion: kubeVersion, BuildOptions: buildOptions(e.Argo.Settings), Versions: e.Argo.Settings.Versions,
	}
	q.APIVersions = versions(e)
	for _, c := range p.Applied.Clusters {
		q.Clusters = append(q.Clusters, cluster{c.Name, c.Server, c.Labels, c.Annotations})
	}
	below, err := filepath.Rel(e.Top(), p.Root)
	if err != nil {
		return request{}, err
	}
	for _, h := range p.Applied.ByHand {
		if h.Folder != "" {
			at := func(p string) string { return path.Join(filepath.ToSlash(below), p) }
			q.Roots = append(q.Roots, made(path.Base(at(h.Folder)), s.Address, at(h.Folder), h.Helm(at)))
			continue
		}
		q.Roots = append(q.Roots, h.Object)
	}
	return q, nil
}

// buildOptions are those that the settings of the installation give. Where they are not
// in the repository, everything is allowed, as Ladder builds it.
func buildOptions(s argo.Settings) string {
	var all []string
	for _, b := range s.Build {
		if b.Version == "" {
			all = append(all, b.Text)
		}
	}
	if len(all) == 0 && s.Whole.File == "" || s.BuildUnread != "" {
		return argo.Unrestricted + " " + argo.EnableHelm
	}
	return strings.Join(all, " ")
}

// versions are the API versions that charts of the environment are told: those that
// every cluster has, and those of the CRDs of the platform. Argo CD asks the cluster.
func versions(e *analysis.Result) []string {
	all := slices.Clone(helm.BuiltinVersions())
	for _, objects := range []map[string][]manifest.Object{e.Objects, e.Partial} {
		for _, list := range objects {
			for _, o := range list {
				if crd, ok := manifest.ReadCRD(o.Unstructured); ok {
					for _, v := range crd.Versions {
						all = append(all, crd.Group+"/"+v, crd.Group+"/"+v+"/"+crd.Kind)
					}
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// made is an Application for a folder that somebody applies.
func made(name, address, folder string, helm map[string]any) map[string]any {
	source := map[string]any{"repoURL": address, "path": folder}
	if helm != nil {
		source["helm"] = helm
	}
	return map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"project": "default", "destination": map[string]any{"namespace": "argocd"},
			"source": source,
		},
	}
}
