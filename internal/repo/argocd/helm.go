package argocd

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// helm reads the helm section of a source. Source: Argo CD,
// ApplicationSourceHelm.
func (r *Repository) helm(to *model.Source, d document, s source, refs map[string]source, f *yamldoc.Fields) {
	if name := f.Text("releaseName"); name != "" {
		to.ReleaseName = name
	}
	to.SkipCRDs = f.Bool("skipCrds", false)
	to.SkipTests = f.Bool("skipTests", false)
	to.SkipSchema = f.Bool("skipSchemaValidation", false)
	optional := f.Bool("ignoreMissingValueFiles", false)
	for _, item := range f.Texts("valueFiles") {
		at := s.item(item.Index, "helm", "valueFiles")
		here := to.Kind == model.Git && r.takenHere(to, refs, item.Text)
		if p, ok := r.valueFile(to, d, s, at, refs, item.Text, here); ok {
			if to.Kind != model.Git || here {
				r.noteEncrypted(d, at, p)
			}
			to.ValueFiles = append(to.ValueFiles, model.ValueFile{Path: p, Here: here, Optional: optional, Position: at})
		}
	}
	r.values(to, d, s, f)
	for _, m := range f.Maps("parameters") {
		into := &to.Parameters
		if m.Bool("forceString", false) {
			into = &to.StringParameters
		}
		put(into, m.Text("name"), withVariables(m.Text("value"), d, s))
	}
	for _, m := range f.Maps("fileParameters") {
		at := s.at("helm", "fileParameters")
		if p, ok := r.valueFile(to, d, s, at, refs, m.Text("path"), false); ok {
			put(&to.FileParameters, m.Text("name"), p)
		}
	}
	to.Namespace, to.KubeVersion, to.APIVersions = f.Text("namespace"), f.Text("kubeVersion"), f.Strings("apiVersions")
}

func put(into *map[string]string, name, value string) {
	if name == "" {
		return
	}
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[name] = value
}

// values reads inline values: valuesObject wins over values. Source: Argo CD,
// ApplicationSourceHelm.ValuesYAML.
func (r *Repository) values(to *model.Source, d document, s source, f *yamldoc.Fields) {
	text := f.Text("values")
	if object := f.Map("valuesObject"); object != nil {
		to.Values, _ = object.Value.Any().(map[string]any)
		return
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	at := s.at("helm", "values")
	// Helm takes the last of two keys of one name.
	var values map[string]any
	err := manifest.Unmarshal([]byte(text), &values)
	if err != nil && hasPlaceholder(text) {
		r.partNotRead(at, d.name(), "helm.values of the source waits for another tool to fill it in, and is no YAML before")
		return
	}
	if err != nil {
		f := newFinding(RuleInvalid, finding.Error, at, d.name(), "helm.values is not a YAML map")
		if _, err := yamldoc.Parse(at.File, []byte(text)); err != nil {
			for _, problem := range repofs.InputErrors(err) {
				f.Message, f.Fix.Summary = fmt.Sprintf("line %d of helm.values is %s", problem.Position.Line, problem.Message), problem.Hint
			}
		}
		r.findings = append(r.findings, f)
		return
	}
	if doubles := yamldoc.Doubles([]byte(text)); len(doubles) > 0 {
		one, severity, loss := doubles[0], finding.Info, ", and says all that the first says"
		if i := slices.IndexFunc(doubles, func(d yamldoc.Double) bool { return !d.Repeated }); i >= 0 {
			one, severity, loss = doubles[i], finding.Warning, ""
		}
		f := newFinding(RuleInvalid, severity, at, d.name(),
			"helm.values has the key %s twice, in its lines %d and %d: the last one wins%s", one.Key, one.First, one.Second, loss)
		f.Fix.Summary = "remove one of the two"
		r.findings = append(r.findings, f)
	}
	to.Values = values
}

// valueFile maps a value file of a source to a path of this repository: "$ref/"
// starts at the repository of another source, "/" at the top of the source's
// own, everything else at the chart. here says that the source is in another repository,
// and the file in this one.
func (r *Repository) valueFile(to *model.Source, d document, from source, at finding.Position, refs map[string]source, written string, here bool) (string, bool) {
	// Of a file of another source the variables are those after its name.
	head, rest, _ := strings.Cut(strings.TrimPrefix(written, "$"), "/")
	if _, isRef := refs[head]; isRef && strings.HasPrefix(written, "$") {
		written = "$" + head + "/" + withVariables(rest, d, from)
	} else if strings.Contains(written, "$ARGOCD_APP_") || strings.Contains(written, "${ARGOCD_APP_") {
		written = withVariables(written, d, from)
	} else if strings.HasPrefix(written, "$") && d.value.At("spec", "sources") == nil {
		// Of a single source it is a variable of the build that is not set. Source: argo-cd,
		// reposerver/repository, resolveReferencedSources, getResolvedValueFiles.
		written = "/" + rest
	}
	if file := encryptedFile(written); file != written {
		if p, ok := r.valueFile(to, d, from, at, refs, file, here); ok && r.present[p] {
			return p, true
		}
	}
	switch {
	case strings.Contains(written, "://"):
		r.valuesElsewhere(to, d, at, "the value file %s is not in the repository", written)
		return "", false
	case strings.HasPrefix(written, "$"):
		ref, rest, _ := strings.Cut(strings.TrimPrefix(written, "$"), "/")
		s, ok := refs[ref]
		if !ok {
			r.findings = append(r.findings, newFinding(RuleInvalid, finding.Error, at, d.name(), "the value file %s needs a source with ref: %s", written, ref))
			return "", false
		}
		if to.Kind == model.Git && normaliseURL(s.repoURL()) == normaliseURL(to.RepoURL) && s.value.TextAt("targetRevision") == to.Version {
			return path.Clean(rest), true
		}
		if to.Kind == model.Git && !here || !r.isOwn(s, rest) {
			r.valuesElsewhere(to, d, at, "the value file %s is in the repository %s", written, s.repoURL())
			return "", false
		}
		if relative, ok := strings.CutPrefix(s.repoURL(), relativeScheme); ok {
			return path.Join(path.Dir(s.position.File), relative, rest), true
		}
		p, _ := r.existing(r.at(s, rest))
		return p, r.inCheckout(to, d, from, s, at, p)
	case to.Kind == model.Git:
		return valueFileElsewhere(to, written), true
	case to.RepoURL != "":
		if r.liesHere(d, from, written) {
			f := newFinding(RuleMissing, finding.Error, at, d.name(), "the value file %s is looked for in the remote chart %s, not in this repository, which has it", written, to.Name)
			f.Fix.Summary = "add this repository as a source with ref: values, and write $values/" + strings.TrimPrefix(written, "/")
			r.findings = append(r.findings, f)
			to.Incomplete = cmp.Or(to.Incomplete, f.Message)
			return "", false
		}
		r.valuesElsewhere(to, d, at, "the value file %s is inside the remote chart", written)
		return "", false
	case path.IsAbs(written):
		p, _ := r.existing(r.at(from, written))
		return p, r.inCheckout(to, d, from, from, at, p)
	default:
		p := path.Join(to.Path, written)
		return p, r.inCheckout(to, d, from, from, at, p)
	}
}

// liesHere reports whether this repository has a value file of a remote chart, in a folder that
// no chart has.
func (r *Repository) liesHere(d document, from source, written string) bool {
	p := strings.TrimPrefix(path.Clean("/"+written), "/")
	known := d.generated == nil || !d.generated.assumed
	return known && strings.Contains(p, "/") && r.present[p] && !r.present["Chart.yaml"] && !boolAt(from.value.At("helm"), "ignoreMissingValueFiles")
}

// inCheckout reports whether a value file is to be looked for here. One that is not here,
// and that a source of another revision has, may well be there.
func (r *Repository) inCheckout(to *model.Source, d document, from, of source, at finding.Position, file string) bool {
	revision := of.value.TextAt("targetRevision")
	if isHead(revision) || r.tree.IsFile(file) || boolAt(from.value.At("helm"), "ignoreMissingValueFiles") {
		return true
	}
	r.valuesElsewhere(to, d, at, "the value file %s is not in this checkout: the Application takes it from the revision %s", file, revision)
	return false
}

// valuesElsewhere tells of a value file that is not at hand: what the chart makes with it
// is not known.
func (r *Repository) valuesElsewhere(to *model.Source, d document, at finding.Position, format string, args ...any) {
	r.partNotRead(at, d.name(), format, args...)
	if to.Incomplete == "" {
		to.Incomplete = fmt.Sprintf(format, args...)
	}
}

// takenHere reports whether a source in another repository takes a value file from this one.
func (r *Repository) takenHere(to *model.Source, refs map[string]source, written string) bool {
	ref, rest, ok := strings.Cut(strings.TrimPrefix(written, "$"), "/")
	s, known := refs[ref]
	return ok && known && strings.HasPrefix(written, "$") && normaliseURL(s.repoURL()) != normaliseURL(to.RepoURL) && !isRelative(s.repoURL()) && r.own[normaliseURL(s.repoURL())] && rest != ""
}

// isOwn reports whether a source that others refer to is this repository. Such
// a source has often no path, so the file itself is looked for as well.
func (r *Repository) isOwn(s source, file string) bool {
	if isRelative(s.repoURL()) {
		return true
	}
	url := normaliseURL(s.repoURL())
	if own, known := r.own[url]; known && own {
		return true
	}
	_, exists := r.existing(file)
	return exists
}

// encryptedFile is the path of a value file that helm-secrets decrypts; any other as it is.
// Source: github.com/jkroepke/helm-secrets, README, "Usage in values files".
func encryptedFile(written string) string {
	if file, ok := strings.CutPrefix(written, "secrets://"); ok {
		return file
	}
	if scheme, rest, ok := strings.Cut(written, "://"); ok && strings.HasPrefix(scheme, "secrets+") {
		if _, file, ok := strings.Cut(rest, "?"); ok {
			return file
		}
	}
	return written
}

// encrypted matches a file that SOPS encrypted. Source: SOPS, its metadata and
// the form of its values.
var encrypted = lazyregexp.New(`(?s)\bENC\[AES256_GCM,.*(\nsops:|"sops":)|^sops:`)

// noteEncrypted reports a value file whose values nobody here can know.
func (r *Repository) noteEncrypted(d document, at finding.Position, file string) {
	if !r.present[file] {
		return
	}
	if data, err := r.tree.Read(file); err == nil && encrypted.Match(data) {
		r.partNotRead(at, d.name(), "the value file %s is encrypted: what it sets is not known", file)
	}
}
