package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// mayBeHere says how to tell that an address is this repository's, where nothing else does.
func (r *Renderer) mayBeHere() string {
	if !r.opts.Unaddressed {
		return ""
	}
	return "; no remote of Git tells that this folder is a copy of it: if it is, list the address in ladder.yaml (repository.aliases)"
}

// elsewhere renders a folder of another repository, which is fetched. Everything that is
// found in it stands where the source is written: its own files are not here.
func (r *Renderer) elsewhere(ctx context.Context, c model.Component, src model.Source, versions []string) (wire.Reply, error) {
	if r.opts.Offline || r.opts.Fetch.Repository == nil {
		return wire.Reply{}, source.Errorf(src.Position, "%s of repository %s is not in this repository, so it is not rendered; vendor it, or run Ladder there%s",
			src.Name, source.Address(src), r.mayBeHere())
	}
	base, err := r.opts.Fetch.Repository(ctx, folderOf(src))
	if err != nil {
		here := ""
		if finding.LacksNetwork(err.Error()) { // else the repository itself has answered
			here = r.mayBeHere()
		}
		return wire.Reply{}, source.Errorf(src.Position, "%s of repository %s cannot be fetched: %w; check address, path and revision, or vendor it%s", src.Name, source.Address(src), err, here)
	}
	view := base.Tree.View()
	there, err := asOwn(view, src, base.Path)
	if err != nil {
		return wire.Reply{}, source.Errorf(src.Position, "%s of repository %s: %w", src.Name, source.Address(src), err)
	}
	if there.ValueFiles, err = r.valueFiles(view, src); err != nil {
		return wire.Reply{}, err
	}
	reply, err := r.evaluate(ctx, view, c, there, versions)
	at := manifest.Origin{File: src.Position.File, Line: src.Position.Line}
	for i := range reply.Objects {
		reply.Objects[i].Origin = at
	}
	for i := range reply.Lacking {
		l := &reply.Lacking[i]
		l.Position, l.Reason = src.Position, saidThere(src, l.Position, l.Reason)
	}
	if n := makesMore(reply.Objects); n > 0 && r.opts.Partial {
		reply.Lacking = append(reply.Lacking, wire.Lack{
			Source: src, Namespace: c.Namespace, Position: src.Position,
			Reason: fmt.Sprintf("%s holds %d objects that apply more, which is not read; run Ladder there", source.Address(src), n),
		})
	}
	var problem *source.Error
	if errors.As(err, &problem) {
		return reply, source.Errorf(src.Position, "%s", saidThere(src, problem.Position, problem.Reason))
	}
	return reply, err
}

// valueFiles are the value files of a source in another repository, as that sees them:
// those of the platform lie beside it.
func (r *Renderer) valueFiles(view *source.Recording, src model.Source) ([]model.ValueFile, error) {
	var all []model.ValueFile
	own := r.tree.View()
	for _, file := range src.ValueFiles {
		if file.Here {
			data, err := own.Read(file.Path)
			missing := errors.Is(err, fs.ErrNotExist)
			switch {
			case missing && file.Optional:
				continue
			case missing:
				return nil, &source.Error{Position: file.Position, Reason: source.NoValueFile(file.Path)}
			case err != nil:
				return nil, source.Errorf(file.Position, "value file %s cannot be read: %w", file.Path, err)
			}
			file.Path = "$here/" + file.Path
			view.Beside(file.Path, data)
		}
		all = append(all, file)
	}
	return all, nil
}

// makesMore counts the objects by which Argo CD or Flux applies what is read in the
// repository that they are in only.
func makesMore(objects []wire.Object) int {
	n := 0
	for _, o := range objects {
		var is struct{ APIVersion, Kind string }
		if err := json.Unmarshal(o.Object, &is); err != nil {
			continue // who reads the objects tells
		}
		group, _, _ := strings.Cut(is.APIVersion, "/")
		switch {
		case group == "argoproj.io" && (is.Kind == "Application" || is.Kind == "ApplicationSet"),
			group == "kustomize.toolkit.fluxcd.io" && is.Kind == "Kustomization",
			group == "helm.toolkit.fluxcd.io" && is.Kind == "HelmRelease":
			n++
		}
	}
	return n
}

// folderOf is the address of a source in another repository, as kustomize writes it.
func folderOf(src model.Source) string {
	address := strings.TrimSuffix(src.RepoURL, "/")
	if folder := strings.Trim(path.Clean("/"+src.Name), "/"); folder != "" {
		address += "//" + folder
	}
	if src.Version != "" && src.Version != "HEAD" {
		address += "?ref=" + url.QueryEscape(src.Version)
	}
	return address
}

// asOwn is a source as the repository that it is in sees it.
func asOwn(view source.View, src model.Source, folder string) (model.Source, error) {
	names, err := view.List(folder)
	if err != nil {
		return src, err
	}
	// Source: argo-cd, reposerver/repository, mergeSourceParameters.
	if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, ".argocd-source") }); i >= 0 {
		return src, fmt.Errorf("it has a %s, which is read in its own repository only; run Ladder there", names[i])
	}
	own := src
	own.Kind, own.Path, own.RepoURL, own.Name, own.Version, own.As = src.As, folder, "", "", "", ""
	if own.Kind == "" {
		own.Kind = model.KindOf(names, func(name string) bool { return !strings.HasSuffix(name, "/") })
	}
	return own, nil
}

// saidThere is what was said about a file of another repository.
func saidThere(src model.Source, at finding.Position, reason string) string {
	where := source.Address(src)
	if at.File != "" && at.File != src.Position.File {
		where = fmt.Sprintf("%s:%d of %s", at.File, at.Line, where)
	}
	return where + ": " + reason
}
