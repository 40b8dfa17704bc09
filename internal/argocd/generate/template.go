package generate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// The expressions by which templates read descriptors. A descriptor may lack any
// field but its name, and older ones spell some differently: get returns nothing
// for a field that is not there, where .field would fail under missingkey=error.
const (
	exprPhase  = `printf "%03d" (atoi (trimPrefix "wave" (toString (coalesce (get . "rolloutPhase") (get . "wave")))))`
	exprDomain = `coalesce (get . "domain") (get . "tier") `
	exprType   = `get . "componentType"`
	// varType is the type in a patch that knows it of descriptors which do not say it.
	varType = `$type`
)

// domain reads the domain, which is else the folder below that of the components.
func (b *builder) domain() string {
	return exprDomain + fmt.Sprintf(`(index .path.segments %d)`, strings.Count(b.inRepository(b.descriptors()), "/")+1)
}

// projectTemplate reads the project of a descriptor, and names its AppProject.
func (b *builder) projectTemplate() string {
	of := `coalesce (get . "project") (` + b.domain() + `)`
	names := b.platform.ArgoCD.Names.Projects
	if names.All != "" {
		format, args := fill(b.called(names.All, nil), map[string]string{ladderfile.PlaceProject: "(" + of + ")"})
		of = strings.Join(append([]string{"printf", strconv.Quote(format)}, args...), " ")
	}
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(names.Of)) {
		pairs = append(pairs, strconv.Quote(key)+" "+strconv.Quote(b.projectName(key)))
	}
	if len(pairs) > 0 {
		of = fmt.Sprintf(`get (dict %s) (%s) | default (%s)`, strings.Join(pairs, " "), of, of)
	}
	return "{{ " + of + " }}"
}

// template is the part of a generated Application that every one has.
func (b *builder) template(stages []stage) (Template, error) {
	retry, err := b.ladderRetry()
	if err != nil {
		return Template{}, err
	}
	project := b.platform.ArgoCD.Project
	if project == "" {
		project = b.projectTemplate()
	} else {
		project = b.projectName(project)
	}
	labels := map[string]string{
		b.label.Phase: "{{ " + exprPhase + " }}", b.label.Domain: "{{ " + b.domain() + " }}", b.label.Environment: b.platform.Environment,
	}
	annotations := map[string]string{compareAnnotation: compareOptions}
	if b.typed() {
		labels[b.label.Type] = "{{ " + exprType + " }}"
		labels[b.label.Dependency] = `{{ coalesce (get . "dependencyPhase") (` + exprType + `) }}`
		annotations[annotationType] = "{{ " + exprType + " }}"
	}
	if b.layout == plan.Tiers && len(stages) > 0 {
		labels[b.label.Tier] = stages[0].set
	}
	to := b.destination
	to.Namespace = `{{ get . "namespace" }}`
	return Template{
		Metadata: Metadata{
			Name: "{{ .name }}", Labels: labels, Annotations: annotations,
			Finalizers: []string{resourcesFinalizer},
		},
		Spec: ApplicationSpec{
			Project: project, Destination: to,
			SyncPolicy: &SyncPolicy{Automated: b.automated(), Retry: retry},
		},
	}, nil
}

// patch is the template of what not every Application has: sources, options, and
// what a descriptor says for itself.
func (b *builder) patch(stages []stage) string {
	var t strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&t, format+"\n", args...) }
	b.partLabels(line, stages)
	b.exceptionOptions(line, stages)
	line(`{{- $repository := dict "repoURL" %s "targetRevision" %s -}}`, strconv.Quote(b.repoURL), strconv.Quote(b.revision))
	line(`{{- $sources := list -}}`)
	line(`{{- $refers := false -}}`)
	b.filled(line)
	b.chartSource(line)
	b.folderSources(line)
	line(`{{- /* The checks of a smoke run as a Job. */ -}}`)
	line(`{{- if get . "smoke" }}`)
	line(`  {{- $sources = append $sources (merge (dict "path" (printf "%s/%%s" .name)) $repository) }}`, b.inRepository(path.Join(b.folder, smokesDir)))
	line(`{{- end }}`)
	line(`{{- if $refers }}{{ $sources = append $sources (merge (dict "ref" %q) $repository) }}{{ end -}}`, valuesRef)
	b.optionLines(line)
	b.retryLines(line)
	line(`metadata:`)
	line(`  labels: {{ toJson $labels }}`)
	line(`  annotations: {{ toJson $annotations }}`)
	line(`spec:`)
	line(`  {{- if eq (len $sources) 1 }}`)
	line(`  source: {{ toJson (first $sources) }}`)
	line(`  {{- else }}`)
	line(`  sources: {{ toJson $sources }}`)
	line(`  {{- end }}`)
	line(`  {{- with get . "ignoreDifferences" }}`)
	line(`  ignoreDifferences: {{ toJson . }}`)
	line(`  {{- end }}`)
	line(`  {{- if or $options $retry }}`)
	line(`  syncPolicy:`)
	line(`    {{- with $options }}`)
	line(`    syncOptions: {{ toJson . }}`)
	line(`    {{- end }}`)
	line(`    {{- with $retry }}`)
	line(`    retry: {{ toJson . }}`)
	line(`    {{- end }}`)
	line(`  {{- end }}`)
	return t.String()
}

type printf func(format string, args ...any)

// partLabels say in which part of its step a component stands; what is new stands
// in the last one.
func (b *builder) partLabels(line printf, stages []stage) {
	line(`{{- $labels := dict -}}`)
	line(`{{- range $key, $value := get . "labels" | default dict }}`)
	line(`  {{- if not (has $key (list %s)) }}{{ $_ := set $labels $key (toString $value) }}{{ end }}`, b.ownLabels())
	line(`{{- end -}}`)
	parts, last := []string{}, map[string]int{}
	for _, s := range stages {
		if s.parts == 0 {
			continue
		}
		for _, p := range s.phases {
			last[p.String()] = s.parts
		}
		for _, name := range s.components {
			parts = append(parts, fmt.Sprintf("%q %q", name, strconv.Itoa(s.part)))
		}
	}
	if len(parts) > 0 {
		slices.Sort(parts)
		var ends []string
		for phase, n := range last {
			ends = append(ends, fmt.Sprintf("%q %q", phase, strconv.Itoa(n)))
		}
		slices.Sort(ends)
		line(`{{- /* Steps with an order inside are parted; what is new goes into the last part. */ -}}`)
		line(`{{- $part := coalesce (get (dict %s) .name) (get (dict %s) (%s)) -}}`, strings.Join(parts, " "), strings.Join(ends, " "), exprPhase)
		line(`{{- if $part }}{{ $_ := set $labels %q $part }}{{ end -}}`, b.label.Part)
	}
	line(`{{- $annotations := dict -}}`)
	b.typeLines(line, stages)
	for _, key := range [][2]string{{"requires", annotationRequires}, {"validates", annotationValidates}} {
		line(`{{- if get . %q }}{{ $_ := set $annotations %q (get . %q | sortAlpha | uniq | join ",") }}{{ end -}}`, key[0], key[1], key[0])
	}
	line(`{{- if get . "timeout" }}{{ $_ := set $annotations %q (toString .timeout) }}{{ end -}}`, annotationTimeout)
}

// ownLabels are those that no descriptor sets.
func (b *builder) ownLabels() string {
	own := []string{b.label.Phase, b.label.Part, b.label.Domain, b.label.Type, b.label.Dependency, b.label.Environment}
	if b.layout == plan.Tiers {
		own = append(own, b.label.Tier)
	}
	for i := range own {
		own[i] = strconv.Quote(own[i])
	}
	return strings.Join(own, " ")
}

// exceptionOptions are what components need by what they render to.
func (b *builder) exceptionOptions(line printf, stages []stage) {
	var entries []string
	for _, s := range stages {
		for _, name := range s.components {
			var quoted []string
			for _, o := range b.exceptions(name) {
				quoted = append(quoted, strconv.Quote(o))
			}
			if len(quoted) > 0 {
				entries = append(entries, fmt.Sprintf("%q (list %s)", name, strings.Join(quoted, " ")))
			}
		}
	}
	slices.Sort(entries)
	if len(entries) == 0 {
		line(`{{- $needs := list -}}`)
		return
	}
	line(`{{- /* Options that what is rendered needs: objects too long for a client-side apply, or`)
	line(`       applied before Argo CD; kinds that come with the component itself. */ -}}`)
	line(`{{- $needs := get (dict %s) .name | default list -}}`, strings.Join(entries, " "))
}

// filled are the fields of sources with the placeholders of their paths filled in,
// inline values and parameters aside.
func (b *builder) filled(line printf) {
	values := ""
	if len(b.inFolders()) > 0 {
		values = ` "values"`
	}
	line(`{{- $text := toJson (pick . "chart" "kustomize" "manifests"%s) -}}`, values)
	line(`{{- range $word, $value := dict "environment" %q "domain" (%s) "name" .name "namespace" (get . "namespace") }}`, b.platform.Environment, b.domain())
	line(`  {{- $text = regexReplaceAll (printf "[{]{2} *%%s *[}]{2}" $word) $text $value }}`)
	line(`{{- end -}}`)
	line(`{{- $of := fromJson $text -}}`)
	b.ownFolder(line)
}

// chartSource reads the field chart.
func (b *builder) chartSource(line printf) {
	line(`{{- $chart := get $of "chart" | default dict -}}`)
	line(`{{- if kindIs "string" $chart }}{{ $chart = dict "path" $chart }}{{ end -}}`)
	line(`{{- if $chart }}`)
	line(`  {{- $helm := dict "releaseName" (get $chart "releaseName" | default .name) }}`)
	line(`  {{- if get $chart "skipCrds" }}{{ $_ := set $helm "skipCrds" true }}{{ end }}`)
	line(`  {{- if get $chart "values" }}{{ $_ := set $helm "valuesObject" .chart.values }}{{ end }}`)
	if len(b.inFolders()) > 0 {
		line(`  {{- if and (not (get . "chart")) (kindIs "map" (get . "values")) }}{{ $_ := set $helm "valuesObject" .values }}{{ end }}`)
	}
	line(`  {{- $files := list%s }}`, b.layers())
	line(`  {{- $optional := or (gt (len $files) 0) (get $chart "ignoreMissingValueFiles") }}`)
	line(`  {{- range get $chart "valueFiles" | default list }}`)
	line(`    {{- $file := . }}`)
	line(`    {{- if kindIs "map" . }}`)
	line(`      {{- $file = .path }}`)
	line(`      {{- $optional = or $optional (get . "optional") }}`)
	line(`    {{- end }}`)
	line(`    {{- $files = append $files (printf "$%s/%%s" (clean (printf "%s/%%s" (trimPrefix "$%s/" $file)))) }}`, valuesRef, b.prefix, valuesRef)
	line(`  {{- end }}`)
	line(`  {{- if $files }}{{ $refers = true }}{{ $_ := set $helm "valueFiles" $files }}{{ end }}`)
	line(`  {{- if and $files $optional }}{{ $_ := set $helm "ignoreMissingValueFiles" true }}{{ end }}`)
	line(`  {{- $parameters := list }}`)
	line(`  {{- if get $chart "parameters" }}`)
	line(`    {{- range $name, $value := .chart.parameters }}`)
	line(`      {{- $parameters = append $parameters (dict "name" $name "value" (toString $value)) }}`)
	line(`    {{- end }}`)
	line(`  {{- end }}`)
	line(`  {{- if $parameters }}{{ $_ := set $helm "parameters" $parameters }}{{ end }}`)
	line(`  {{- if get $chart "path" }}`)
	line(`    {{- $sources = append $sources (merge (dict "path" (clean (printf "%s/%%s" $chart.path)) "helm" $helm) $repository) }}`, b.prefix)
	line(`  {{- else }}`)
	line(`    {{- $sources = append $sources (dict "repoURL" (trimPrefix %q $chart.repoURL) "chart" $chart.name "targetRevision" (toString (get $chart "version")) "helm" $helm) }}`, ociScheme)
	line(`  {{- end }}`)
	line(`{{- end }}`)
}

// layers are the value files that every chart of the environment gets.
func (b *builder) layers() string {
	var out strings.Builder
	for _, l := range b.platform.Target().Values {
		text := "$" + valuesRef + "/" + b.inRepository(strings.TrimPrefix(l.Path, "$values/"))
		format, args := fill(text, map[string]string{
			"environment": strconv.Quote(b.platform.Environment), "domain": "(" + b.domain() + ")", "name": ".name", "namespace": `(get . "namespace")`,
		})
		if len(args) == 0 {
			fmt.Fprintf(&out, " %q", text)
			continue
		}
		fmt.Fprintf(&out, " (printf %q %s)", format, strings.Join(args, " "))
	}
	return out.String()
}

// fill turns the placeholders of a path into verbs of printf.
func fill(text string, expressions map[string]string) (format string, args []string) {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{{")
		name, after, closed := strings.Cut(rest, "}}")
		out.WriteString(strings.ReplaceAll(before, "%", "%%"))
		if !ok || !closed {
			return out.String(), args
		}
		out.WriteString("%s")
		args = append(args, expressions[strings.TrimSpace(name)])
		text = after
	}
}

// folderSources read the fields kustomize and manifests.
func (b *builder) folderSources(line printf) {
	for _, kind := range []string{"kustomize", "manifests"} {
		line(`{{- $%s := get $of %q | default dict -}}`, kind, kind)
		line(`{{- if kindIs "string" $%s }}{{ $%s = dict "path" $%s }}{{ end -}}`, kind, kind, kind)
	}
	line(`{{- if $kustomize }}`)
	line(`  {{- $sources = append $sources (merge (dict "path" (clean (printf "%s/%%s" $kustomize.path))) $repository) }}`, b.prefix)
	line(`{{- end }}`)
	line(`{{- if $manifests }}`)
	line(`  {{- $folder := clean (printf "%s/%%s" $manifests.path) }}`, b.prefix)
	line(`  {{- $directory := dict }}`)
	line(`  {{- if get $manifests "recurse" }}{{ $_ := set $directory "recurse" true }}{{ end }}`)
	if len(b.inFolders()) > 0 {
		line(`  {{- with get $manifests "exclude" }}{{ $_ := set $directory "exclude" . }}{{ end }}`)
	}
	line(`  {{- if regexMatch "[.](ya?ml|json)$" $folder }}`)
	line(`    {{- $directory = dict "include" (base $folder) }}`)
	line(`    {{- $folder = dir $folder }}`)
	line(`  {{- end }}`)
	line(`  {{- $source := merge (dict "path" $folder) $repository }}`)
	line(`  {{- if $directory }}{{ $_ := set $source "directory" $directory }}{{ end }}`)
	line(`  {{- $sources = append $sources $source }}`)
	line(`{{- end }}`)
}

// optionLines collect the sync options as syncOptions does.
func (b *builder) optionLines(line printf) {
	line(`{{- $options := get . "syncOptions" | default list -}}`)
	line(`{{- if kindIs "string" $options }}{{ $options = without (splitList "," (nospace $options)) "" }}{{ end -}}`)
	line(`{{- $options = uniq $options -}}`)
	line(`{{- if get . "ignoreDifferences" }}{{ $needs = prepend $needs %q }}{{ end -}}`, optionRespectIgnore)
	line(`{{- if eq (%s) "crds" }}{{ $needs = concat (list %q %q) $needs }}{{ end -}}`, b.kind(), optionServerSide, optionPruneLast)
	line(`{{- if eq (%s) "namespaces" }}{{ $needs = concat (list %q) $needs }}{{ end -}}`, b.kind(), optionPruneLast)
	line(`{{- range $needs }}`)
	line(`  {{- if not (contains (printf ",%%s=" .) (printf ",%%s" (join "," $options))) }}{{ $options = append $options (printf "%%s=true" .) }}{{ end }}`)
	line(`{{- end }}`)
}

// retryLines read the field retry; what it does not say is that of the template.
func (b *builder) retryLines(line printf) {
	line(`{{- $own := get . "retry" | default dict -}}`)
	line(`{{- $retry := dict -}}`)
	line(`{{- if hasKey $own "limit" }}{{ $_ := set $retry "limit" (int64 $own.limit) }}{{ end -}}`)
	line(`{{- $backoff := dict -}}`)
	line(`{{- with get $own "backoff" }}`)
	line(`  {{- if get . "duration" }}{{ $_ := set $backoff "duration" (toString .duration) }}{{ end }}`)
	line(`  {{- if get . "maxDuration" }}{{ $_ := set $backoff "maxDuration" (toString .maxDuration) }}{{ end }}`)
	line(`  {{- if get . "factor" }}{{ $_ := set $backoff "factor" (int64 .factor) }}{{ end }}`)
	line(`{{- end }}`)
	line(`{{- if $backoff }}{{ $_ := set $retry "backoff" $backoff }}{{ end -}}`)
}
