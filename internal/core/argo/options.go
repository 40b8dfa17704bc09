package argo

import (
	"slices"
	"strings"
)

// OptionPlace is a place where options for Argo CD are written.
type OptionPlace int

// The places.
const (
	// SyncList is spec.syncPolicy.syncOptions of an Application, one option an item.
	SyncList OptionPlace = iota + 1
	// SyncAnnotation and CompareAnnotation are annotations, with commas between options.
	SyncAnnotation
	CompareAnnotation
)

// The annotations with options.
const (
	SyncOptions    = "argocd.argoproj.io/sync-options"
	CompareOptions = "argocd.argoproj.io/compare-options"
)

// option is one that Argo CD knows.
type option struct {
	name   string
	values []string // that have an effect; none for one that is a word alone
	idle   string   // the value that says what is so without it
	places []OptionPlace
}

// options are those that Argo CD compares with what is written, letter by letter. Those of
// the list that versions since 3.3 read there only count as well. Source: argo-cd,
// controller/sync.go, controller/state.go and appcontroller.go; gitops-engine, pkg/sync.
func options() []option {
	list, annotation := []OptionPlace{SyncList}, []OptionPlace{SyncAnnotation}
	both, compare := []OptionPlace{SyncList, SyncAnnotation}, []OptionPlace{CompareAnnotation}
	on, off := []string{"true"}, []string{"false"}
	return []option{
		{"ApplyOutOfSyncOnly", on, "false", list},
		{"ClientSideApplyMigration", off, "true", list},
		{"CreateNamespace", on, "false", list},
		{"Delete", []string{"false", "confirm"}, "true", both},
		{"FailOnSharedResource", on, "false", list},
		{"Force", on, "false", annotation},
		{"Prune", []string{"false", "confirm"}, "true", both},
		{"PruneLast", on, "false", both},
		{"PrunePropagationPolicy", []string{"foreground", "background", "orphan"}, "", list},
		{"Replace", on, "false", both},
		{"RespectIgnoreDifferences", on, "false", list},
		{"ServerSideApply", []string{"true", "false"}, "", both},
		{"SkipDryRunOnMissingResource", on, "false", both},
		{"Validate", off, "true", both},
		{"IgnoreExtraneous", nil, "false", compare},
		{"IncludeMutationWebhook", on, "false", compare},
		{"ServerSideDiff", []string{"true", "false"}, "", compare},
	}
}

// text is the option with one of its values.
func (o option) text(value string) string {
	if len(o.values) == 0 {
		return o.name
	}
	return o.name + "=" + value
}

// automated are the fields of spec.syncPolicy.automated, which are no options.
var automated = []string{"allowEmpty", "prune", "selfHeal"}

// ofFork are options that a fork of Argo CD knows. Source: Flamingo, "Flux Subsystem for Argo".
var ofFork = []string{"AutoCreateFluxResources", "FluxSubsystem"}

// OptionAnnotation is an annotation that has options, and which place that is.
type OptionAnnotation struct {
	Name  string
	Place OptionPlace
}

// OptionAnnotations are all of them.
func OptionAnnotations() []OptionAnnotation {
	return []OptionAnnotation{{SyncOptions, SyncAnnotation}, {CompareOptions, CompareAnnotation}}
}

// Ignored says why an option has no effect where it is written, and what would be right; both
// are empty for one that has, that says what is so anyway, or that something else fills in.
// Argo CD takes spaces away in annotations only.
func Ignored(text string, at OptionPlace) (why, right string) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || strings.ContainsAny(text, "{}[]()<>$%@#") || strings.Contains(text, "__") {
		return "", ""
	}
	if at == SyncList && strings.Contains(text, ",") && isList(text) {
		return "Argo CD takes one item for one option", "write each option as an item of its own"
	}
	name, value, _ := strings.Cut(trimmed, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if slices.Contains(ofFork, name) {
		return "", ""
	}
	if at == SyncList && slices.Contains(automated, name) && value == "true" {
		return "Argo CD knows no such option, but the field spec.syncPolicy.automated." + name, "write " + name + ": true below automated"
	}
	o, ok := optionLike(name)
	if !ok {
		return "Argo CD knows no such option", "correct its name, or take it out"
	}
	return o.ignored(text, value, at)
}

// isList reports whether all parts between commas are options.
func isList(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(part), "=")
		if _, ok := optionLike(name); !ok {
			return false
		}
	}
	return true
}

// optionLike is the option that a name means: of that name, or nearly.
func optionLike(name string) (option, bool) {
	all := options()
	same := func(o option) bool { return strings.EqualFold(o.name, name) }
	if i := slices.IndexFunc(all, same); i >= 0 {
		return all[i], true
	}
	near := func(o option) bool { return len(name) > 5 && slip(strings.ToLower(name), strings.ToLower(o.name)) }
	if i := slices.IndexFunc(all, near); i >= 0 {
		return all[i], true
	}
	return option{}, false
}

// slip reports whether two words differ in one letter that is missing, or two of them do in
// one letter.
func slip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return a[i:] == b[i+len(b)-len(a):] || len(a) == len(b) && i < len(a) && a[i+1:] == b[i+1:]
}

// ignored judges a text that means an option, with a value.
func (o option) ignored(text, value string, at OptionPlace) (why, right string) {
	meant := slices.IndexFunc(o.values, func(v string) bool { return strings.EqualFold(v, value) })
	if len(o.values) == 0 && strings.EqualFold(value, "true") || value == "" && len(o.values) > 0 && slices.Contains(o.values, "true") {
		meant = 0
	}
	switch {
	case o.idle != "" && strings.EqualFold(value, o.idle):
		return "", ""
	case len(o.values) == 0 && (value == "" || meant == 0):
		value = ""
	case meant < 0:
		return "Argo CD knows no such value", "write " + o.alternatives()
	default:
		value = o.values[meant]
	}
	right = o.text(value)
	if !slices.Contains(o.places, at) {
		return "Argo CD reads " + right + " " + o.readIn(), "move " + right + " there"
	}
	if at != SyncList {
		text = strings.TrimSpace(text)
	}
	if text == right {
		return "", ""
	}
	return "Argo CD compares it letter by letter with " + right, "write " + right
}

// alternatives names the texts of an option that have an effect.
func (o option) alternatives() string {
	if len(o.values) == 0 {
		return o.name
	}
	var all []string
	for _, v := range o.values {
		all = append(all, o.text(v))
	}
	return strings.Join(all, " or ")
}

// readIn says where an option is read.
func (o option) readIn() string {
	switch o.places[0] {
	case SyncList:
		return "in spec.syncPolicy.syncOptions of an Application"
	case SyncAnnotation:
		return "in the annotation " + SyncOptions + " of an object"
	default:
		return "in the annotation " + CompareOptions
	}
}
